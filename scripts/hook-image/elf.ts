/** What a 64-bit little-endian ELF program asks its loader for. */
import { type FileHandle, open } from "node:fs/promises";

export interface ElfProgram {
  /** Path of the loader; absent in a library. */
  readonly interpreter?: string;
  /** File names of the libraries that it needs. */
  readonly needed: readonly string[];
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

const ELF64_LITTLE_ENDIAN = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
/** Types of segments. */
const LOAD = 1;
const DYNAMIC = 2;
const INTERPRETER = 3;
/** Tags of entries of the dynamic segment. */
const NEEDED = 1;
const STRING_TABLE = 5;
const STRING_TABLE_SIZE = 10;
const HEADER_SIZE = 64;
const ENTRY_SIZE = 16;

/** Reads headers only: Node's program has more than a hundred megabytes. @throws where the file is no such program */
export async function readElf(file: string): Promise<ElfProgram> {
  const handle = await open(file);
  try {
    const header = await read(handle, 0, HEADER_SIZE);
    if (!header.subarray(0, ELF64_LITTLE_ENDIAN.length).equals(ELF64_LITTLE_ENDIAN)) {
      throw new Error(`${file} is no 64-bit little-endian ELF file`);
    }
    const segments = await readSegments(handle, header);
    const interpreter = segments.find(({ type }) => type === INTERPRETER);
    return {
      ...(interpreter === undefined ? {} : { interpreter: await readText(handle, interpreter) }),
      needed: await readNeeded(handle, segments),
    };
  } finally {
    await handle.close();
  }
}

async function readSegments(handle: FileHandle, header: Buffer): Promise<readonly Segment[]> {
  const offset = Number(header.readBigUInt64LE(32));
  const size = header.readUInt16LE(54);
  const count = header.readUInt16LE(56);
  const table = await read(handle, offset, size * count);
  return Array.from({ length: count }, (_, index) => {
    const entry = table.subarray(index * size, (index + 1) * size);
    return {
      type: entry.readUInt32LE(0),
      offset: Number(entry.readBigUInt64LE(8)),
      address: Number(entry.readBigUInt64LE(16)),
      size: Number(entry.readBigUInt64LE(32)),
    };
  });
}

async function readNeeded(handle: FileHandle, segments: readonly Segment[]): Promise<readonly string[]> {
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  if (dynamic === undefined) return [];
  const bytes = await read(handle, dynamic.offset, dynamic.size);
  const entries = Array.from({ length: Math.floor(dynamic.size / ENTRY_SIZE) }, (_, index) => ({
    tag: Number(bytes.readBigInt64LE(index * ENTRY_SIZE)),
    value: Number(bytes.readBigUInt64LE(index * ENTRY_SIZE + 8)),
  }));
  const valueOf = (tag: number): number => entries.find((entry) => entry.tag === tag)?.value ?? 0;
  const names = await read(handle, fileOffset(valueOf(STRING_TABLE), segments), valueOf(STRING_TABLE_SIZE));
  return entries.filter(({ tag }) => tag === NEEDED).map(({ value }) => textAt(names, value));
}

/** Where in the file lies what is loaded at this address. */
function fileOffset(address: number, segments: readonly Segment[]): number {
  const found = segments.find(
    (segment) =>
      segment.type === LOAD && address >= segment.address && address < segment.address + segment.size,
  );
  if (found === undefined) throw new Error(`no segment is loaded at ${address}`);
  return address - found.address + found.offset;
}

async function readText(handle: FileHandle, { offset, size }: Segment): Promise<string> {
  return textAt(await read(handle, offset, size), 0);
}

function textAt(bytes: Buffer, start: number): string {
  const end = bytes.indexOf(0, start);
  return bytes.toString("utf8", start, end === -1 ? undefined : end);
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error(`the file ends before byte ${position + length}`);
  return buffer;
}
