#!/usr/bin/env python3
"""RESULTS.md is what benchmarks/results.py makes of the figures, and recording puts rows where they belong."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "benchmarks/results.py"

SUBJECT = {
    "title": "Loops", "order": 1, "about": "Loops of all kinds.", "wanted": "fast ones.",
    "columns": [
        {"key": "loop", "title": "loop", "as": "text"}, {"key": "threads", "title": "threads", "as": "count"},
        {"key": "ms", "title": "ours, ms", "as": "time"}, {"key": "ratio", "title": "ours / peer", "as": "ratio"},
        {"key": "share", "title": "of the peak, %", "as": "percent"},
        {"key": "seed", "title": "seed", "as": "count", "page": False},
    ],
    "key": ["loop", "threads"], "summary": [{"of": "ratio", "by": "threads", "worst": "highest"}],
    "losses": {"of": "ratio", "above": 1, "peer": "the peer"},
    "runs": [
        {"machine": "another", "date": "2026-01-02", "command": "bench loops", "peers": {"peer": "1.0"}, "note": "Alone.", "rows": [
            {"loop": "a", "threads": 1, "ms": 1234.5, "ratio": 0.5, "share": 0.9, "seed": 7},
            {"loop": "b", "threads": 1, "ms": 0.0123456, "ratio": 2, "date": "2026-01-03"},
        ]},
        {"machine": "this", "date": "2026-01-01", "rows": [
            {"loop": "a", "threads": 1, "ms": 1, "ratio": 1}, {"loop": "b", "threads": 1, "ms": 9, "ratio": 1},
        ]},
    ],
}


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.page, self.env = self.folder / "RESULTS.md", {
            **os.environ, "TCTUNE_RESULTS": str(self.folder), "TCTUNE_RESULTS_PAGE": str(self.folder / "RESULTS.md"),
            "TCTUNE_RESULTS_MACHINE": "this"}
        self.env.pop("TCTUNE_RESULTS_COMMAND", None)

    def subject(self, **more):
        (self.folder / "loops.json").write_text(json.dumps({**SUBJECT, **more}))

    def read(self):
        return json.loads((self.folder / "loops.json").read_text())

    def run_it(self, *args, told=None, ok=True, **env):
        done = subprocess.run([sys.executable, PROGRAM, *args], input=told, text=True, capture_output=True, check=False,
                              env={**self.env, **env})
        self.assertEqual(done.returncode == 0, ok, done.stdout + done.stderr)
        return done.stderr

    def test_the_page_is_what_the_figures_say(self):
        done = subprocess.run([sys.executable, PROGRAM, "--check"], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page(self):
        self.subject()
        self.run_it()
        text = self.page.read_text()
        for part in ("## Loops\n\nLoops of all kinds.\n\nWanted: fast ones.\n\n",
                     "**another**, 2026-01-02 to 2026-01-03, beside peer 1.0. `bench loops`. Alone.\n\n"
                     "| loop | threads | ours, ms | ours / peer | of the peak, % |\n|---|---|---|---|---|\n"
                     "| a | 1 | 1234 | 0.50 | 90 |\n| b | 1 | 0.0123 | 2.00 | - |\n",
                     "ours / peer: threads 1: mean **1.00**, highest 2.00 (b).\n\nLosses to the peer: b 1 (2.00).\n",
                     "Losses to the peer: none.\n"):
            self.assertIn(part, text)
        self.assertNotIn("seed", text)
        self.run_it("--check")
        self.page.write_text(text.replace("0.50", "0.49"))
        self.assertIn("run benchmarks/results.py", self.run_it("--check", ok=False))

    def test_groups_splits_and_shown_rows(self):
        group = {"by": ["threads"], "of": [{"key": "ratio", "worst": "highest"}, {"key": "share", "worst": "lowest"}]}
        self.subject(group=group, brief=True)
        self.run_it()
        self.assertIn("| threads | ours / peer (highest) | of the peak, % (lowest) |\n|---|---|---|\n| 1 | 1.00 (2.00) | 90 |\n",
                      self.page.read_text())
        self.subject(split="loop", shown={"loop": ["b"]})
        self.run_it()
        text = self.page.read_text()
        self.assertIn("*b*\n\n| threads | ours, ms | ours / peer |\n|---|---|---|\n| 1 | 0.0123 | 2.00 |\n", text)
        self.assertNotIn("*a*", text)

    def test_rows_are_recorded(self):
        self.subject()
        told = {"peers": {"peer": "2.0"}, "rows": [{"loop": "b", "threads": 1, "ms": 5}, {"loop": "b", "threads": 2, "ms": 3}]}
        self.run_it("record", "loops", told=json.dumps(told),
                    TCTUNE_RESULTS_COMMAND="bench --record /home/me/m.onnx --db=/tmp/x.db -- 1..8")
        another, this = self.read()["runs"]
        today = date.today().isoformat()
        self.assertEqual(another, SUBJECT["runs"][0])
        self.assertEqual(this["command"], "bench m.onnx --db=x.db -- 1..8")
        self.assertEqual(this["rows"], [SUBJECT["runs"][1]["rows"][0], {"loop": "b", "threads": 1, "ms": 5, "date": today},
                                        {"loop": "b", "threads": 2, "ms": 3, "date": today}])
        self.assertIn(f"**this**, 2026-01-01 to {today}, beside peer 2.0.", self.page.read_text())
        self.run_it("--check")
        self.run_it("record", "loops", told='{"loop": "c", "threads": 1}\n{"loop": "d", "threads": 1}\n',
                    TCTUNE_RESULTS_MACHINE="a new one")
        self.assertEqual([r["loop"] for r in self.read()["runs"][2]["rows"]], ["c", "d"])
        self.run_it("--check")

    def test_what_is_refused_changes_nothing(self):
        self.subject()
        before = (self.folder / "loops.json").read_text()
        for told, why in (('{"loop": "a", "threads": 1, "cycles": 3}', "cycles"), ('{"threads": 1}', "has no 'loop'"),
                          ("[", "as JSON"), ("", "no rows"), ('{"loop": 4, "threads": 1}', "not a text"),
                          ('{"loop": "a", "threads": 1, "ms": "3 ms"}', "is not a number")):
            self.assertIn(why, self.run_it("record", "loops", told=told, ok=False))
            self.assertEqual((self.folder / "loops.json").read_text(), before)
        self.assertIn("there are loops", self.run_it("record", "lops", told="{}", ok=False))
        for more, why in (({"key": ["name"]}, "no such columns"), ({"speed": 1}, "speed"), ({"brief": True}, "wants a 'group'"),
                          ({"runs": [{"machine": "x", "date": "today", "rows": []}]}, "date"),
                          ({"runs": [{**SUBJECT["runs"][1], "rows": 2 * [{"loop": "a", "threads": 1}]}]}, "two rows"),
                          ({"columns": [*SUBJECT["columns"], {"key": "x", "title": "x", "as": "colour"}]}, "shown as 'colour'")):
            self.subject(**more)
            self.assertIn(why, self.run_it(ok=False))

    def test_writing_keeps_every_figure(self):
        for path in (ROOT / "benchmarks/results").glob("*.json"):
            shutil.copy(path, self.folder)
        before = {p.name: p.read_text() for p in self.folder.glob("*.json")}
        code = "import results as r; [r.write(p, r.read(p)) for p in r.FOLDER.glob('*.json')]"
        env = {**self.env, "PYTHONPATH": str(PROGRAM.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, "-c", code], env=env, check=True)
        self.assertGreater(len(before), 15)
        self.assertEqual({p.name: p.read_text() for p in self.folder.glob("*.json")}, before)

    def test_scripts_record(self):
        shutil.copy(ROOT / "benchmarks/results/fleet.json", self.folder)
        script = self.folder / "fleet.sh"
        script.write_text(f'here={PROGRAM.parent}\n. "$here/setup.sh"\n'
                          'echo \'{"round": 9, "here": 2, "by_worker": 1, "ratio": 0.5}\' | record fleet\n')
        subprocess.run(["sh", "-eu", script, "--record", "200"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        run = json.loads((self.folder / "fleet.json").read_text())["runs"][-1]
        self.assertEqual([run["machine"], run["rows"][0]["round"]], ["this", 9])
        self.assertTrue(run["command"].endswith("fleet.sh 200"), run["command"])


if __name__ == "__main__":
    unittest.main()
