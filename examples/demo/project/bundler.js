// The dev server's helper: a line per second, until it is ended.
let builds = 0;
setInterval(() => console.log(`rebuilt, build ${(builds += 1)}`), 1000);
