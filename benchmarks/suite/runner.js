// A program that takes turns until something goes wrong with it; then it is out, and the reason is a remark of the operator's row.
'use strict';

const fs = require('fs');
const b = require('../common.js');
const report = require('./report.js');
const tensor = require('./tensor.js');

// Where less than this share of a call's time is left without what a call costs by itself, nothing is left to compare with.
const RESOLVABLE = 0.2;
// Nothing that a program is asked takes nearly as long.
const LIMIT_S = 120;

class Runner {
    constructor(name, row) {
        Object.assign(this, {name, row, alive: true});
    }

    async attempt(body) {
        if (!this.alive)
            return NaN;
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error(`no answer within ${LIMIT_S} s`)), 1000 * LIMIT_S);
        });
        try {
            return await Promise.race([body(), late]);
        } catch (e) {
            this.alive = false;
            this.kill();
            this.row.remarks.push(`${report.PEERS[this.name] || this.name}: ${e.message}`);
            return NaN;
        } finally {
            clearTimeout(timer);
        }
    }

    async start(command, args) {
        await this.attempt(async () => {
            this.peer = new b.Peer(report.PEERS[this.name] || this.name, command, args);
            await this.peer.ready();
            this.row.about[this.name] = this.peer.about;
        });
        return this;
    }

    // The result of one run, as the tensor is in our own memory.
    result(file, out) {
        return this.attempt(async () => {
            await this.peer.ask('save');
            const bytes = fs.readFileSync(file), data = new Float32Array(bytes.length / 4);
            Buffer.from(data.buffer).set(bytes);
            return out ? tensor.fromView(data, out.own, out.groups) : data;
        });
    }

    turn(repeats) {
        return this.attempt(async () => {
            const r = await this.peer.ask(`run ${repeats}`), ms = b.median(r.times_ms);
            if (!r.call_ms)
                return ms;
            if (ms - r.call_ms < RESOLVABLE * ms)
                b.fail('not longer than a call of a model that does nothing');
            return ms - r.call_ms;
        });
    }

    kill() {
        if (this.peer)
            this.peer.process.kill('SIGKILL');
    }

    stop() {
        if (this.peer)
            this.peer.stop();
    }
}

module.exports = {Runner};
