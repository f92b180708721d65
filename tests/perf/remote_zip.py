"""What it costs to read pictures of a large zip that lies on a server: requests, bytes, seconds.

    python -m tests.perf.remote_zip [MEMBERS [GIGABYTES [PICTURES]]]

The archive is made for it, sparse: only its directory and the pictures that are read take room on the disk. The server
is that of the tests, on the loopback interface, with the redirect of Hugging Face. Targets: the first picture in less
than 2 s; 200 pictures with at most 210 requests and less than 1.2 times their bytes (the directory is counted apart).
"""

import sys
import tempfile
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from threading import Thread

import pytest

from pytest_vqaeval.archive import Archive
from pytest_vqaeval.hub import Hub
from pytest_vqaeval.spec import read_spec
from tests.hubserver import HubServer
from tests.perf.big_archive import member_name, write_archive

MEMBERS, GIGABYTES, PICTURES, THREADS = 150_000, 2.0, 200, 8

SPEC = """\
name: big
data: {folder: big, files: {images.zip: {sources: ["hf://datasets/o/d/images.zip"]}}}
records: q.jsonl
sample: {id: "{id}", messages: [{role: user, content: [{image: "images.zip!{name}"}]}]}
score: {scorer: short_answer}
"""


def main() -> None:
    given = [float(argument) for argument in sys.argv[1:]]
    members, gigabytes, pictures = given + [MEMBERS, GIGABYTES, PICTURES][len(given) :]
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), int(members), gigabytes, int(pictures))


def measure(root: Path, members: int, gigabytes: float, pictures: int) -> None:
    """Make the archive, serve it, read from it as the look-ahead's threads do, and print what it took."""
    spacing = int(gigabytes * 1e9 / members)
    content = Random(1).randbytes(spacing * 9 // 10)
    wanted = Random(5).sample(range(members), pictures)
    served = root / "served/o/d/images.zip"
    served.parent.mkdir(parents=True)
    write_archive(served, members, set(wanted), spacing, content)
    (root / "big.vqa.yaml").write_text(SPEC)
    with HubServer(root / "served", cdn=True) as server, pytest.MonkeyPatch.context() as patch:
        server.point_here(patch, root / "cache")
        hub = Hub()
        data = hub.open(read_spec(root / "big.vqa.yaml"))
        archive = Archive(data.folder, data=data)
        start = time.perf_counter()
        assert archive.read(f"images.zip!{member_name(wanted[0])}") == content
        first = time.perf_counter() - start
        opening = server.seen[:-1]
        read_all(archive, wanted[1:], content)
        took = time.perf_counter() - start
        for opened in (archive, data, hub):
            opened.close()
    directory_mb = sum(seen.sent for seen in opening) / 1e6
    requests, of_pictures = len(server.seen), sum(seen.sent for seen in server.seen[len(opening) :])
    share, pieces = of_pictures / (len(content) * pictures), (root / "cache/big/images.zip.pieces").stat()
    print(f"{members:,} members, {served.stat().st_size / 1e9:.2f} GB, {pictures} pictures of {len(content):,} bytes")
    print(f"first picture  {first:.2f} s; {len(opening)} requests and {directory_mb:.1f} MB were for the directory")
    print(f"all pictures   {took:.2f} s, {THREADS} threads; {requests} requests in all, {share:.3f} times their bytes")
    print(f"on the disk    {pieces.st_blocks * 512 / 1e6:.1f} MB of {pieces.st_size / 1e9:.2f} GB")
    assert first < 2, "the first picture is late"
    assert requests <= pictures + 10, "too many requests"
    assert share < 1.2, "too many bytes"


def read_all(archive: Archive, wanted: list[int], content: bytes) -> None:
    """Read pictures from several threads."""
    queue: SimpleQueue[int] = SimpleQueue()
    for number in wanted:
        queue.put(number)
    failures: list[str] = []

    def work() -> None:
        while True:
            try:
                number = queue.get_nowait()
            except Empty:
                return
            if archive.read(f"images.zip!{member_name(number)}") != content:
                failures.append(member_name(number))

    threads = [Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


if __name__ == "__main__":
    main()
