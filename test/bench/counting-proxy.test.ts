import { describe, expect, it } from "vitest";
import { isAttachmentList } from "./counting-proxy.ts";

const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";

describe("bytes of the list", () => {
  it("are those of any page of all attachments, however they are asked for", () => {
    expect(isAttachmentList(`${ATTACHMENTS}?limit=1000&includeObject=None&continue=x`)).toBe(true);
    expect(isAttachmentList(ATTACHMENTS)).toBe(true);
  });

  it("are not those of a watch, of one attachment, or of anything else", () => {
    expect(isAttachmentList(`${ATTACHMENTS}?watch=1&fieldSelector=metadata.name%3Dcsi-1`)).toBe(false);
    expect(isAttachmentList(`${ATTACHMENTS}/csi-1`)).toBe(false);
    expect(isAttachmentList("/api/v1/nodes/n1")).toBe(false);
  });
});
