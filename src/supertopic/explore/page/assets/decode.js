/* The data of the page: JSON and typed arrays, packed by write.py. */

const ARRAY_KINDS = [Float64Array, Float32Array, Int32Array, Uint32Array, Uint16Array, Uint8Array];

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/* {facts…, arrays: {name: {data, shape}}} */
async function readData(base64) {
  const buffer = await inflate(bytesOfBase64(base64));
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const arrays = {};
  for (const [name, [kind, shape, place]] of Object.entries(facts.arrays)) {
    const size = shape.reduce((product, n) => product * n, 1);
    const Kind = ARRAY_KINDS.find((one) => one.name.toLowerCase() === `${kind}array`);
    arrays[name] = { data: new Kind(buffer, 8 + length + place, size), shape };
  }
  facts.arrays = arrays;
  return facts;
}

function row(array, i) {
  const width = array.shape[1];
  return array.data.subarray(i * width, (i + 1) * width);
}
