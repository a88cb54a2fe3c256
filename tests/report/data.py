"""The data of the page against the database, against a golden, and where there is little or nothing to show."""
import json
import os
import sqlite3
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
    rows = db.execute("SELECT id, workload, median, error, mode, rounds, message, phase, predicted, verified, when_ms FROM records ORDER BY id").fetchall()
    assert [x[0] for x in rows] == c["id"]
    near = lambda a, b: (a is None) == (b is None) and (a is None or abs(a - b) <= 1e-5 * abs(b))
    for i, (_, workload, median, error, mode, rounds, message, phase, predicted, verified, when) in enumerate(rows):
        k = d["kernels"][c["kernel"][i]]
        assert k["forms"][c["form"][i]]["hash"] == workload
        assert near(c["median_ms"][i], None if median is None else median * 1e3), (i, median)
        assert near(c["predicted"][i], predicted), (i, predicted)
        assert (r["outcomes"][c["outcome"][i]]["name"], r["modes"][c["mode"][i]]) == (error, mode)
        assert (r["messages"][c["message"][i]], r["phases"][c["phase"][i]], c["rounds"][i], c["verified"][i]) == (message, phase, rounds, verified)
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
    begin = page.index('id="data">') + len('id="data">')
    d = json.loads(page[begin:page.index("</script>", begin)])
    assert EVIL in d["records"]["messages"] and EVIL in d["records"]["hosts"]
    assert len(page) < 1e6


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
    assert "this is none" in run("report", "--db", "normal.db", "--with", "other.json", "-o", "x.html", code=1)
    assert not os.path.exists("x.html")


if __name__ == "__main__":
    common.scratch()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name)
