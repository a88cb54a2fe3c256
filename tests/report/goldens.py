"""How the page looks, against pictures that a person looked at: tests/report/goldens, a quarter as large. Chromium itself makes
them smaller and compares them. Exit status 77: there is no Chromium, or not the font that the pictures have.
    goldens.py            compares
    goldens.py --renew    takes the pictures anew, to be looked at before they are committed"""
import base64
import os
import subprocess
import sys

import chromium
import common
from common import run

FOLDER = os.path.join(common.HERE, "goldens")
FONT = "DejaVu Sans"
SECTIONS = ("overview", "kernels", "roofline", "search", "kernel-course", "failures", "model", "ranges")
EVERYWHERE = ("overview", "roofline", "search")  # also dark, and on a narrow screen
SHOTS = [(section, 1280, False) for section in SECTIONS]
SHOTS += [(section, width, dark) for section in EVERYWHERE for width, dark in ((1280, True), (400, False))]

# A cell of the small picture, of 16 pixels, is off when a colour of it differs by more than 24 of 255. In pictures by one version
# of Chromium no cell is off. Missing roofs are 0.6 % of their section's cells, and points 12 pixels beside their places 0.16 %.
OFF, FEW = 24, 0.001

COMPARE = """(async (shot, golden) => {
    const draw = async (url, w, h) => {
        const image = new Image();
        image.src = 'data:image/png;base64,' + url;
        await image.decode();
        const canvas = document.createElement('canvas');
        canvas.width = w || Math.ceil(image.width / 4);
        canvas.height = h || Math.ceil(image.height / 4);
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return [canvas, context.getImageData(0, 0, canvas.width, canvas.height).data];
    };
    const [canvas, now] = await draw(shot);
    const small = canvas.toDataURL('image/png').split(',')[1];
    if (golden === null) return {small};
    const image = new Image();
    image.src = 'data:image/png;base64,' + golden;
    await image.decode();
    if (image.width !== canvas.width || Math.abs(image.height - canvas.height) > 1)
        return {small, why: `${canvas.width} x ${canvas.height}, not ${image.width} x ${image.height}`};
    const [, then] = await draw(golden, canvas.width, canvas.height);
    let off = 0;
    for (let i = 0; i < now.length; i += 4)
        off += [0, 1, 2].some(k => Math.abs(now[i + k] - then[i + k]) > OFF);
    return {small, off: off / (now.length / 4)};
})""".replace("OFF", str(OFF))


def show(b, width, dark, spoil=""):
    """Opens the page; spoil: more style."""
    b.open("normal.html", width=width, dark=dark)
    style = f"* {{ font-family: \"{FONT}\" !important; }} {spoil}"
    b.run(f"document.head.append(Object.assign(document.createElement('style'), {{textContent: '{style}'}}))")
    b.run("dispatchEvent(new Event('resize'))")
    b.run("new Promise(f => setTimeout(f, 200))")


def take(b, section):
    """The section of the page as base64 of a PNG."""
    x, y, w, h = b.run("(r => [r.x + scrollX, r.y + scrollY, r.width, r.height])"
                       f"(document.querySelector('#{section}').getBoundingClientRect())")
    clip = {"x": x, "y": y, "width": w, "height": h, "scale": 1}
    return b.page("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]


def take_all(b):
    """All pictures, each with its file."""
    for width, dark in sorted({shot[1:] for shot in SHOTS}):
        show(b, width, dark)
        yield from [(file_of(*shot), take(b, shot[0])) for shot in SHOTS if shot[1:] == (width, dark)]


def compare(b, shot, golden):
    b.page("Page.navigate", url="about:blank")
    return b.run(f"{COMPARE}('{shot}', {'null' if golden is None else repr(golden)})")


def file_of(section, width, dark):
    return os.path.join(FOLDER, f"{section}-{width}{'-dark' if dark else ''}.png")


def read(file):
    with open(file, "rb") as f:
        return base64.b64encode(f.read()).decode()


def renew(b):
    os.makedirs(FOLDER, exist_ok=True)
    for file, shot in take_all(b):
        with open(file, "wb") as f:
            f.write(base64.b64decode(compare(b, shot, None)["small"]))


def check(b):
    for file, shot in take_all(b):
        r = compare(b, shot, read(file))
        if "why" in r or r["off"] > FEW:
            with open("differs.png", "wb") as f:
                f.write(base64.b64decode(r["small"]))
            raise AssertionError(f"{os.path.basename(file)}: {r.get('why') or '%.2f %% of it differ' % (100 * r['off'])}; "
                                 f"{os.getcwd()}/differs.png is what it is now; --renew where that is meant")
        print(os.path.basename(file), "%.3f %%" % (100 * r["off"]), flush=True)


def check_the_check(b):
    """A picture that lacks a line, or whose points are elsewhere, is not taken for the right one."""
    for section, spoil in (("roofline", "#roofline-picture line.roof { display: none; }"),
                           ("search", "#search circle { transform: translate(12px); }"),
                           ("overview", "#overview svg { display: none; }")):
        show(b, 1280, False, spoil)
        r = compare(b, take(b, section), read(file_of(section, 1280, False)))
        assert "why" in r or r["off"] > FEW, (section, r["off"])
        print("spoilt", section, r.get("why") or "%.3f %%" % (100 * r["off"]), flush=True)


if __name__ == "__main__":
    fonts = subprocess.run(["fc-list", ":", "family"], stdout=subprocess.PIPE, text=True, check=False).stdout
    if not chromium.program() or FONT not in fonts:
        print(f"skipped: there is no Chromium, or no font {FONT} (scripts/install-deps.sh --browser)")
        sys.exit(77)
    common.scratch()
    run("report", "--db", "normal.db", "--baseline", "base.db", "--with", "bench.json", "--with", "curves.json",
        "-o", "normal.html")
    browser = chromium.Browser()
    try:
        if "--renew" in sys.argv:
            renew(browser)
        check(browser)
        check_the_check(browser)
    finally:
        browser.close()
