"""What it costs a process to open an archive of PMC-VQA's size and to read its samples' pictures from it.

    python -m tests.perf.big_archive [MEMBERS [PICTURES]]

The archive is made for it: 18 GB with 200,000 members, sparse, so that only its directory and the pictures that are
read take room on the disk. Each figure is that of a fresh process: seconds, and how much memory it took beyond what a
process takes that imports the module and does nothing.
"""

import json
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from random import Random

MEMBERS, PICTURES = 200_000, 1_440
SPACING = 90_000  # bytes from one member to the next: 18 GB in all
PICTURE = bytes(range(256)) * 8

MEASURE = """
import json, sys, time
from pathlib import Path

def peak_mb():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

path, names = Path(sys.argv[2]), json.load(sys.stdin)
if sys.argv[1] == "zipfile":
    import zipfile
    def opened(): return zipfile.ZipFile(path).read
else:
    from pytest_vqaeval.archive import Archive
    def opened():
        read = Archive(path.parent).read
        return lambda name: read("images.zip!" + name)
idle, start = peak_mb(), time.perf_counter()
read = opened()
read(names[0])
found = time.perf_counter()
for name in names:
    assert len(read(name)) == 2048
done = time.perf_counter()
print(json.dumps([found - start, done - start, peak_mb() - idle, peak_mb()]))
"""


def member_name(number: int) -> str:
    """Like those of PMC-VQA."""
    return f"images/PMC{8_000_000 + number // 3}_Fig{number % 3 + 1}_{number % 1000}.jpg"


def write_archive(
    path: Path, members: int, written: set[int], spacing: int = SPACING, picture: bytes = PICTURE
) -> None:
    """A zip64 archive of stored members; those that are not `written` are holes in the file."""
    crc, size = zlib.crc32(picture), len(picture)
    directory = bytearray()
    with path.open("wb") as file:
        for number in range(members):
            name, offset = member_name(number).encode(), number * spacing
            if number in written:
                file.seek(offset)
                file.write(struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, crc, size, size, len(name), 0))
                file.write(name + picture)
            wide = struct.pack("<HHQ", 1, 8, offset)
            directory += struct.pack(
                "<4s6H3L5H2L",
                b"PK\1\2",
                45,
                45,
                0,
                0,
                0,
                33,
                crc,
                size,
                size,
                len(name),
                len(wide),
                *[0] * 4,
                2**32 - 1,
            )
            directory += name + wide
        start = file.seek(members * spacing)
        file.write(directory)
        end = file.tell()
        file.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, members, members, len(directory), start))
        file.write(struct.pack("<4sLQL", b"PK\6\7", 0, end, 1))
        file.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0))


def measure(how: str, path: Path, names: list[str]) -> tuple[float, ...]:
    """Seconds to the first member and to the last, MB beyond the idle process, MB of the process."""
    command = [sys.executable, "-c", MEASURE, how, str(path)]
    done = subprocess.run(command, input=json.dumps(names), capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout))


def main() -> None:
    members, pictures = [int(given) for given in sys.argv[1:]] + [MEMBERS, PICTURES][len(sys.argv) - 1 :]
    wanted = Random(5).sample(range(members), pictures)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.zip"
        write_archive(path, members, set(wanted))
        print(f"{members:,} members, {path.stat().st_size / 1e9:.1f} GB, {pictures:,} pictures read\n")
        print("          first found   all read   memory beyond idle   of the process")
        for how in ("zipfile", "archive") * 3:
            first, last, more, all_mb = measure(how, path, [member_name(number) for number in wanted])
            print(f"{how}     {first:9.3f} s {last:8.3f} s {more:17.1f} MB {all_mb:13.1f} MB")


if __name__ == "__main__":
    main()
