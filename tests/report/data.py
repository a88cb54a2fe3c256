"""The data of the page against the database, against a golden, and where there is little or nothing to show."""
import json
import os
import sqlite3
import subprocess
import sys

import common
from common import EVIL, HERE, run


def data(*arguments):
    return json.loads(run("report", *arguments, "--json"))


def without_places(d):
    """What is the same on every machine; of assembly, which is LLVM's, where it was cut."""
    for k in d["kernels"]:
        for side in ("best", "baseline"):
            code = (k[side] or {}).get("code")
            if code and "assembly" in code:
                code["assembly"] = {"text": bool(code["assembly"]["text"])}
                code["asm_facts"] = {"known": code["asm_facts"]["known"]}
    del d["made_ms"]
    for base in ("database", "baseline"):
        if d[base]:
            del d[base]["bytes"]
    return d


def golden(d, name):
    path, text = os.path.join(HERE, name), json.dumps(without_places(d), indent=1, sort_keys=True) + "\n"
    if "--renew" in sys.argv:
        with open(path, "w") as f:
            f.write(text)
    with open(path) as f:
        assert f.read() == text, f"{path} differs: `data.py --renew` writes what there is now\n{text[:3000]}"


def against_database(d, file):
    """Every record, by SQLite itself."""
    c, r = d["records"]["columns"], d["records"]
    db = sqlite3.connect(file)
    rows = db.execute("SELECT id, workload, median, error, mode, rounds, message, phase, predicted, verified, "
                      "when_ms FROM records ORDER BY id").fetchall()
    assert [x[0] for x in rows] == c["id"]
    near = lambda a, b: (a is None) == (b is None) and (a is None or abs(a - b) <= 1e-5 * abs(b))
    for i, (_, workload, median, error, mode, rounds, message, phase, predicted, verified, when) in enumerate(rows):
        k = d["kernels"][c["kernel"][i]]
        assert k["forms"][c["form"][i]]["hash"] == workload
        assert near(c["median_ms"][i], None if median is None else median * 1e3), (i, median)
        assert near(c["predicted"][i], predicted), (i, predicted)
        assert (r["outcomes"][c["outcome"][i]]["name"], r["modes"][c["mode"][i]]) == (error, mode)
        shown = (r["messages"][c["message"][i]], r["phases"][c["phase"][i]], c["rounds"][i], c["verified"][i])
        assert shown == (message, phase, rounds, verified)
        assert c["when_ms"][i] + r["first_ms"] == when
        steps = r["steps"][c["decisions"][i][0]]
        trace = db.execute("SELECT trace FROM records WHERE id = ?", (rows[i][0],)).fetchone()[0]
        made = [line.rsplit(" ~", 1)[1] for line in trace.splitlines() if " ~" in line]
        assert [p["values"][v] for p, v in zip(steps, c["decisions"][i][1:])] == made
    db.close()


def kernel(d, part):
    return next(k for k in d["kernels"] if part in k["workload"])


def test_normal():
    d = data("--db", "normal.db", "--baseline", "base.db", "--with", "bench.json", "--with", "curves.json")
    against_database(d, "normal.db")
    k = kernel(d, "max(")
    assert k["best"]["record"] == 1 and k["best"]["rounds"] == 7 and abs(k["best"]["median_ms"] - 0.04) < 1e-6
    assert abs(k["baseline"]["median_ms"] - 0.05) < 1e-6
    assert [(m["mode"], m["record"]) for m in k["modes"]] == [("hot", 1), ("in-graph", 17)]
    assert abs(k["modes"][0]["low_ms"] - 0.0396) < 1e-6 and abs(k["modes"][0]["high_ms"] - 0.0404) < 1e-6
    assert (k["records"], k["valid"]) == (13, 10)
    assert d["machine"]["roofs"]["from"] == "bench.json"
    assert abs(k["best"]["roof_ms"] - k["flops"] / 40e9 * 1e3) < 1e-6 and k["best"]["bound_by"] == "arithmetic"
    golden(d, "normal.json")


def test_little():
    d = data("--db", "empty.db", "--quick")
    assert d["kernels"] == [] and d["records"]["columns"]["id"] == [] and "no records" in d["machine"]["roofs"]["why"]
    d = data("--db", "failures.db")
    assert all(k["best"]["record"] is None and k["best"]["why"] for k in d["kernels"])
    against_database(d, "failures.db")
    assert "another machine" in d["machine"]["roofs"]["why"]
    d = data("--db", "normal.db", "--baseline", "empty.db")
    assert all(k["baseline"]["record"] is None and k["baseline"]["why"] for k in d["kernels"])


def test_spoilt():
    d = data("--db", "broken.db")
    codes = [k["best"].get("code", {}) for k in d["kernels"]]
    assert any(c.get("why") for c in codes) and any(c.get("nest") for c in codes), codes
    common.change("normal.db", "workload.db", "UPDATE workloads SET text = substr(text, 1, 30)")
    try:
        d = data("--db", "workload.db")
        assert all(k["best"]["record"] is None and k["flops"] is None for k in d["kernels"])
    except AssertionError as e:
        assert "workload.db" in str(e) and "exit status 1" in str(e), e  # refused as a whole, with a reason
    common.change("normal.db", "bytes.db", "UPDATE records SET host = CAST(x'ff3c' AS TEXT)")
    run("report", "--db", "bytes.db", "-o", "bytes.html")


def test_hostile():
    run("report", "--db", "hostile.db", "-o", "hostile.html")
    with open("hostile.html") as f:
        page = f.read()
    assert EVIL not in page and "<img" not in page and page.count("</script>") == 3
    d = json.loads(json_of("hostile.html"))
    assert EVIL in d["records"]["messages"] and EVIL in d["records"]["hosts"]
    assert len(page) < 1e6


def test_roofs_stay():
    """A document that tells the peak and the memory of this machine replaces none of the roofs that are measured here."""
    own_records()
    levels = lambda *more: [l["name"] for l in data("--db", "own.db", *more)["machine"]["roofs"]["levels"]]
    measured = data("--db", "own.db", "--with", "own.json")["machine"]["roofs"]
    assert measured["from"] == "measured" and measured["f32_gflops"] != 40, measured
    assert levels("--with", "own.json") == levels() and levels()[-1] == "memory" and len(levels()) > 1
    told = data("--db", "own.db", "--with", "own.json", "--quick")["machine"]["roofs"]
    assert told["from"] == "own.json" and told["f32_gflops"] == 40


def own_records():
    """own.db has records of this machine, of a network whose name a shell takes apart."""
    if not os.path.exists("own.db"):
        run("zoo", "mlp", "--out", "my net.onnx")
        run("tune", "--model", "my net.onnx", "--trials", "8", "--threads", "1", "--db", "own.db")
    with open("own.json", "w") as f:
        f.write(common.BENCH)


def commands_of(d):
    """All commands that a page shows."""
    assert all(c is None or c.startswith("tctune ") for j in (d, *d["kernels"]) for c in j["commands"].values())
    return [c for j in (d, *d["kernels"]) for c in j["commands"].values() if c]


def shell(command):
    where = os.path.dirname(os.path.abspath(common.TCTUNE))
    p = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       env=dict(os.environ, PATH=where + ":" + os.environ["PATH"]), check=False)
    assert p.returncode == 0, f"{command}: exit status {p.returncode}\n{p.stderr}"


def test_commands_run():
    """What the page shows can be typed. `tune` is checked but for its trials, `explain` for one kernel, as it takes long."""
    own_records()
    d = data("--db", "own.db", "--model", "my net.onnx", "--threads", "1", "--accuracy", "strict")
    assert "--kernel 3" in d["kernels"][3]["commands"]["bench"] and "--accuracy strict" in d["commands"]["bench"]
    for level, shown in (("fast", " --accuracy fast"), ("default", "")):
        command = data("--db", "own.db", "--model", "my net.onnx", "--threads", "1", "--accuracy", level)["commands"]["bench"]
        assert command.endswith("--threads 1" + shown), command
    explained = False
    for c in commands_of(d):
        if "tctune explain" in c:
            explained, c = True, "true" if explained else c + " --seconds 5"
        shell(c.replace("--trials 1000", "--trials 8"))
    page = run("report", "--db", "own.db", "--model", "my net.onnx", "--threads", "1", "--quick", "--out", "my page.html")
    assert page
    made_by = json.loads(json_of("my page.html"))["command"]
    os.remove("my page.html")
    shell(made_by)
    assert os.path.exists("my page.html")
    for c in commands_of(data("--db", "own.db", "--quick")):
        shell("true" if "tctune explain" in c or "tctune tune" in c else c)
    foreign = data("--db", "normal.db")
    assert foreign["commands"]["bench"] is None and all(k["commands"]["compare"] is None for k in foreign["kernels"])
    shell(foreign["kernels"][0]["commands"]["explain"])


def json_of(file):
    with open(file) as f:
        page = f.read()
    begin = page.index('id="data">') + len('id="data">')
    return page[begin:page.index("</script>", begin)]


def test_refused():
    assert "--out is missing" in run("report", "--db", "normal.db", code=2)
    assert "give one of them" in run("report", "--db", "normal.db", "--json", "-o", "x.html", code=2)
    assert "none.db" in run("report", "--db", "none.db", "-o", "x.html", code=1)
    assert "no records with 7 threads" in run("report", "--db", "normal.db", "--threads", "7", "-o", "x.html", code=1)
    assert "no records for znver4" in run("report", "--db", "normal.db", "--target", "znver4", "-o", "x.html", code=1)
    with open("soup.json", "w") as f:
        f.write("{\n soup")
    assert "soup.json:2" in run("report", "--db", "normal.db", "--with", "soup.json", "-o", "x.html", code=1)
    with open("other.json", "w") as f:
        f.write("{}")
    assert "not a document for a report" in run("report", "--db", "normal.db", "--with", "other.json", "-o", "x.html", code=1)
    assert not os.path.exists("x.html")


if __name__ == "__main__":
    common.scratch()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name)
