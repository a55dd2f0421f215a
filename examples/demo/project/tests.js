// Stands for a slow test suite. It ends by itself, after the file `last-test` has appeared.
const fs = require("node:fs");

const names = ["parses the config", "serves the index", "follows a redirect", "rejects a bad token", "keeps a session"];
let passed = 0;
const timer = setInterval(() => {
  const name = names[passed % names.length];
  passed += 1;
  console.log(`ok ${passed} ${name}`);
  if (fs.existsSync("last-test")) {
    clearInterval(timer);
    console.log(`${passed} passed, 0 failed`);
  }
}, 700);
