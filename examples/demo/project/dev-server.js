// Stands for any dev server: answers requests, and has a helper process that rebuilds.
const http = require("node:http");
const { spawn } = require("node:child_process");

const server = http.createServer((request, response) => {
  response.end("healthy\n", () => console.log(`${request.method} ${request.url} ${response.statusCode}`));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`ready on http://127.0.0.1:${server.address().port}`);
  spawn(process.execPath, ["bundler.js"], { stdio: "inherit" });
});
