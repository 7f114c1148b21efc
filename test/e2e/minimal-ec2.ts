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

/** How long EC2 takes to attach and to detach. */
const delayMs = 500;

export class MinimalEc2 {
  readonly changes: Ec2Change[] = [];
  readonly #volumes: Map<string, Attachment | undefined>;
  readonly #server = createServer((request, response) => {
    void text(request).then((body) => send(response, this.#answer(new URLSearchParams(body))));
  });

  private constructor(volumeIds: readonly string[]) {
    this.#volumes = new Map(volumeIds.map((id) => [id, undefined]));
  }

  static async start(volumeIds: readonly string[]): Promise<MinimalEc2> {
    const ec2 = new MinimalEc2(volumeIds);
    ec2.#server.listen(0, "127.0.0.1");
    await once(ec2.#server, "listening");
    return ec2;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(form: URLSearchParams): string | Refusal {
    const volumeId = form.get("VolumeId") ?? form.get("VolumeId.1") ?? "";
    if (!this.#volumes.has(volumeId)) return { refused: "InvalidVolume.NotFound" };
    switch (form.get("Action") ?? "") {
      case "AttachVolume":
        return this.#attach(volumeId, form.get("InstanceId") ?? "", form.get("Device") ?? "");
      case "DetachVolume":
        return this.#detach(volumeId, form.get("InstanceId") ?? "");
      case "DescribeVolumes":
        return described(volumeId, this.#volumes.get(volumeId));
      default:
        return { refused: "InvalidAction" };
    }
  }

  #attach(volumeId: string, instanceId: string, device: string): string | Refusal {
    if (this.#volumes.get(volumeId) !== undefined) return { refused: "VolumeInUse" };
    const attachment = { instanceId, device };
    this.#change(volumeId, attachment, "attaching");
    setTimeout(() => this.#change(volumeId, attachment, "attached"), delayMs).unref();
    return "<AttachVolumeResponse/>";
  }

  #detach(volumeId: string, instanceId: string): string | Refusal {
    const present = this.#volumes.get(volumeId);
    if (present?.status !== "attached" || present.instanceId !== instanceId) {
      return { refused: "IncorrectState" };
    }
    this.#change(volumeId, present, "detaching");
    setTimeout(() => this.#change(volumeId, present, "detached"), delayMs).unref();
    return "<DetachVolumeResponse/>";
  }

  #change(volumeId: string, attachment: Omit<Attachment, "status">, to: Ec2Change["to"]): void {
    this.#volumes.set(volumeId, to === "detached" ? undefined : { ...attachment, status: to });
    this.changes.push({ volumeId, instanceId: attachment.instanceId, to });
  }
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
