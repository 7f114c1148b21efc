/**
 * Just enough of EC2's Query API to attach and detach volumes, for the proof that the control plane works. It holds
 * what the CSI controller must be able to rely on: a volume is attached to one instance at a time.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Attachment {
  readonly instanceId: string;
  readonly device: string;
  readonly status: "attaching" | "attached" | "detaching";
}

/** What EC2 did, in its order. */
export interface Ec2Change {
  readonly volumeId: string;
  readonly instanceId: string;
  readonly to: "attaching" | "attached" | "detaching" | "detached";
}

export interface MinimalEc2 {
  readonly url: string;
  readonly changes: readonly Ec2Change[];
  close(): Promise<void>;
}

export async function startMinimalEc2(
  volumeIds: readonly string[],
  attachAndDetachMs = 500,
): Promise<MinimalEc2> {
  const volumes = new Map<string, Attachment | undefined>(volumeIds.map((id) => [id, undefined]));
  const changes: Ec2Change[] = [];
  const set = (volumeId: string, attachment: Attachment, to: Ec2Change["to"]) => {
    volumes.set(volumeId, to === "detached" ? undefined : { ...attachment, status: to });
    changes.push({ volumeId, instanceId: attachment.instanceId, to });
  };
  const settle = (volumeId: string, attachment: Attachment, to: Ec2Change["to"]) => {
    setTimeout(() => set(volumeId, attachment, to), attachAndDetachMs).unref();
  };
  const answer = (form: URLSearchParams): string | Refusal => {
    const volumeId = form.get("VolumeId") ?? form.get("VolumeId.1") ?? "";
    if (!volumes.has(volumeId)) return { refused: "InvalidVolume.NotFound" };
    const present = volumes.get(volumeId);
    const instanceId = form.get("InstanceId") ?? "";
    switch (form.get("Action")) {
      case "AttachVolume": {
        if (present !== undefined) return { refused: "VolumeInUse" };
        const attachment = { instanceId, device: form.get("Device") ?? "", status: "attaching" } as const;
        set(volumeId, attachment, "attaching");
        settle(volumeId, attachment, "attached");
        return "<AttachVolumeResponse/>";
      }
      case "DetachVolume":
        if (present?.status !== "attached" || present.instanceId !== instanceId) {
          return { refused: "IncorrectState" };
        }
        set(volumeId, present, "detaching");
        settle(volumeId, present, "detached");
        return "<DetachVolumeResponse/>";
      case "DescribeVolumes":
        return described(volumeId, present);
      default:
        return { refused: "InvalidAction" };
    }
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => send(response, answer(new URLSearchParams(body))));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/`, changes, close };
}

interface Refusal {
  readonly refused: string;
}

function described(volumeId: string, attachment: Attachment | undefined): string {
  const { instanceId, device, status } = attachment ?? {};
  const item = `<item><instanceId>${instanceId}</instanceId><device>${device}</device><status>${status}</status></item>`;
  return (
    "<DescribeVolumesResponse><volumeSet><item>" +
    `<volumeId>${volumeId}</volumeId><status>${attachment ? "in-use" : "available"}</status>` +
    `<attachmentSet>${attachment ? item : ""}</attachmentSet>` +
    "</item></volumeSet></DescribeVolumesResponse>"
  );
}

function send(response: ServerResponse, answer: string | Refusal): void {
  response.setHeader("content-type", "text/xml");
  if (typeof answer === "string") {
    response.end(answer);
    return;
  }
  const error = `<Error><Code>${answer.refused}</Code><Message>refused</Message></Error>`;
  response.statusCode = 400;
  response.end(`<Response><Errors>${error}</Errors></Response>`);
}
