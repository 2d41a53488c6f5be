// Unsent answers: kept in local storage until the server has stored them durably. Each has a unique id, so that sending
// one twice counts once; any tab of this campaign sends what another tab left behind.

import { name, post, Refusal, say } from "./dom.js";

const BATCH = 50;

export class Outbox {
  constructor({ campaign, session, who, told }) {
    Object.assign(this, { session, who, told });
    this.prefix = `versionspace:${campaign}:`;
    this.count = 0;
    this.failures = 0;
    this.sending = false;
    this.trouble = "";
    addEventListener("online", () => this.flush());
    this.flush();
  }

  add(answer) {
    const order = `${Date.now().toString().padStart(15, "0")}-${String(this.count++).padStart(6, "0")}`;
    const line = JSON.stringify({ who: this.who, answer });
    try {
      localStorage.setItem(`${this.prefix}${order}-${answer.uid}`, line);
    } catch {
      say("This browser’s storage is full: answers are sent, but not stored here in the meantime.");
      (this.unkept ??= []).push({ who: this.who, answer });
    }
    this.flush();
  }

  undo(image, of) {
    this.add({ uid: name(), kind: "undo", image, of });
  }

  waiting() {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.prefix)).sort();
    const kept = keys.map((key) => ({ key, ...JSON.parse(localStorage.getItem(key)) }));
    return [...kept, ...(this.unkept ?? [])];
  }

  images() {
    return this.waiting().map((line) => line.answer.image);
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.later);
    try {
      for (let lines = this.waiting(); lines.length; lines = this.waiting()) {
        const who = lines[0].who;
        const end = lines.findIndex((line) => line.who !== who);
        await this.send(who, lines.slice(0, end < 0 ? BATCH : Math.min(end, BATCH)));
      }
      this.failures = 0;
      this.trouble = "";
    } catch (error) {
      this.failures += 1;
      const many = this.waiting().length;
      const kept = `${many} answer${many === 1 ? " is" : "s are"} stored here and sent when it is back`;
      const lost = error instanceof Refusal ? error.message : "The server does not respond";
      this.trouble = `${lost}; ${kept}.`;
      this.later = setTimeout(() => this.flush(), Math.min(5000, 250 * 2 ** this.failures));
    } finally {
      this.sending = false;
    }
    this.told({});
  }

  async send(who, lines) {
    const answers = lines.map((line) => line.answer);
    let found;
    try {
      found = await post("/api/answers", { session: this.session, who, answers });
    } catch (error) {
      if (!(error instanceof Refusal) || ![413, 422].includes(error.status)) throw error;
      if (lines.length > 1) {
        for (const line of lines) await this.send(who, [line]);
        return;
      }
      found = { taken: [], refused: [{ uid: answers[0].uid, why: error.message }] };
    }
    const settled = new Set([...found.taken, ...found.refused.map((one) => one.uid)]);
    for (const line of lines) if (settled.has(line.answer.uid) && line.key) localStorage.removeItem(line.key);
    this.unkept = this.unkept?.filter((line) => !settled.has(line.answer.uid));
    for (const one of found.refused) say(`Not stored: ${one.why}`, { seconds: 8 });
    this.told(found);
  }
}
