// Runs before `npm start` and `npm test`, on whatever Node there is: plain CommonJS, no syntax that an old Node refuses.
var major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    "ebs-drain needs Node 24 or later, this is " +
      process.version +
      " (" +
      process.execPath +
      ").\nOn Linux `npm ci` brings it: run `npm ci` again without --omit=optional. Elsewhere install Node 24.",
  );
  process.exit(1);
}
