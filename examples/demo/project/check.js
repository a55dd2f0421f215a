// Asks the dev server how it is: exit code 0 when it answers 200.
const http = require("node:http");

http.get(`${process.argv[2]}/health`, (response) => {
  response.resume();
  console.log(`it answers ${response.statusCode}`);
  process.exitCode = response.statusCode === 200 ? 0 : 1;
}).on("error", (error) => {
  console.log(error.message);
  process.exitCode = 1;
});
