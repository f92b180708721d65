"""Files that are written whole or not at all, and what is no file."""

import os
import threading
from pathlib import Path

import pytest

from pytest_vqaeval.errors import StoreError
from pytest_vqaeval.store import write_whole


def test_a_file_is_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("old, and longer")
    write_whole(file, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777, os.listdir(tmp_path)) == ("new", 0o600, ["a.json"])


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """`--vqa-json=/dev/stdout`, as root in a container: a file in the place of a device would break the machine."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "new")
    reader.join(10)
    assert read == ["new"]
    assert pipe.is_fifo()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be written: Is a directory"):
        write_whole(tmp_path, "new")
