// Stands for any dev server: answers requests, and has a helper process that rebuilds.
const http = require("node:http");
const { spawn } = require("node:child_process");

// It takes its time, as dev servers do: to start, and to build a page.
const START_MS = 400;
const PAGE_MS = 300;

const server = http.createServer((request, response) => {
  setTimeout(() => {
    console.log(`${request.method} ${request.url} 200`);
    response.end("healthy\n");
  }, PAGE_MS);
});

setTimeout(() => {
  server.listen(0, "127.0.0.1", () => {
    console.log(`ready on http://127.0.0.1:${server.address().port}`);
    spawn(process.execPath, ["bundler.js"], { stdio: "inherit" });
  });
}, START_MS);
