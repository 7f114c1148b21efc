/** node list-once.ts <API server> <node>: reads the list as a hold does and prints how many attachments the node has. */
import { ApiConnection } from "../../hook/api-connection.ts";
import { listAttachmentsOfNode } from "../../hook/attachment-list.ts";

const [server = "", node = ""] = process.argv.slice(2);
const nothing = { token: () => Promise.resolve("t"), authorities: () => Promise.resolve("") };
const connection = new ApiConnection(server, nothing);
const found = await listAttachmentsOfNode(connection, node, new AbortController().signal);
process.stdout.write(`${found.length}\n`);
connection.close();
