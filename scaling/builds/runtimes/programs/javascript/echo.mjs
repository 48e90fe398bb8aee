// `echo` in JavaScript: both ends of every connection on the thread's own loop. The client sends a
// payload, and the next one when all of it has come back.
import { once } from "node:events";
import { connect, createServer } from "node:net";

const TURNS_PER_US = 30; // workers/workloads/parts/work.py

export default class Echo {
  static finite = false;
  static inFlight = "connections";
  running = true;

  constructor({ connections, payload_bytes, work_us }, count) {
    this.connections = connections;
    this.payload = Buffer.from(Array.from({ length: payload_bytes }, (_, k) => k % 256));
    this.turns = Math.round(work_us * TURNS_PER_US);
    this.count = count;
  }

  // Starts the server, connects, and compares one echo on an extra connection byte by byte.
  async setUp() {
    const server = createServer((socket) => {
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("data", (data) => socket.write(data));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const connected = async () => {
      const socket = connect(server.address().port, "127.0.0.1");
      await once(socket, "connect");
      return socket.setNoDelay(true);
    };
    const extra = await connected();
    extra.write(this.payload);
    const parts = [];
    for (let left = this.payload.length; left > 0;) {
      const [part] = await once(extra, "data");
      parts.push(part);
      left -= part.length;
    }
    if (!Buffer.concat(parts).equals(this.payload)) {
      throw new Error("the echo differs from what was sent");
    }
    this.sockets = [];
    for (let k = 0; k < this.connections; k += 1) this.sockets.push(await connected());
  }

  // Keeps one payload in flight on every connection until stopped.
  async run() {
    await Promise.all(this.sockets.map((socket) => this.trips(socket)));
    return [];
  }

  trips(socket) {
    const { payload, count, turns } = this;
    return new Promise((resolve, reject) => {
      let left = payload.length;
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("the echo server closed the connection")));
      socket.on("data", (data) => {
        left -= data.length;
        if (left > 0) return;
        count[0] += 1;
        if (turns) this.worked = takeTurns(turns);
        left = payload.length;
        if (this.running) socket.write(payload);
        else resolve();
      });
      socket.write(payload);
    });
  }
}

// The work of an operation: a loop with as many turns as Python's.
function takeTurns(turns) {
  let total = 0;
  for (let k = 0; k < turns; k += 1) total += k & 7;
  return total;
}
