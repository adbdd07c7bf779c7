"""Checks what an image of `cargo xtask image` holds, and nothing beside it.

    contents.py LAYOUT        checks it; the last line is `N passed, N failed`
    contents.py LAYOUT size   only prints how large it is
    contents.py LAYOUT list   only prints its files, sorted
    contents.py LAYOUT config writes the settings of its container

The digests are checked here once more, with Python's own.
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

USER = 65532
PROGRAM = "usr/local/bin/tidings"
DATA = "var/lib/tidings"
ZONES = "usr/share/zoneinfo/"
# All files but those of the time zones.
FILES = {PROGRAM, "etc/group", "etc/nsswitch.conf", "etc/passwd", "etc/ssl/certs/ca-certificates.crt"}
FOLDERS = {"etc", "etc/ssl", "etc/ssl/certs", "tmp", "usr", "usr/local", "usr/local/bin", "usr/share", "var", "var/lib", DATA}


class Layout:
    """An OCI layout with one manifest."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "index.json"), "rb") as file:
            self.index = json.load(file)
        (self.first,) = self.index["manifests"]
        self.manifest = json.loads(self.blob(self.first))

    def blob(self, descriptor):
        with open(os.path.join(self.folder, "blobs", descriptor["digest"].replace(":", "/")), "rb") as file:
            content = file.read()
        found = "sha256:" + hashlib.sha256(content).hexdigest()
        assert found == descriptor["digest"], f"{descriptor['digest']} is {found}"
        assert len(content) == descriptor["size"], f"{found} has {len(content)} bytes, not {descriptor['size']}"
        return content

    def config(self):
        return json.loads(self.blob(self.manifest["config"]))

    def layer(self):
        """The one layer, packed and unpacked."""
        (layer,) = self.manifest["layers"]
        packed = self.blob(layer)
        return packed, gzip.decompress(packed)


def digests_hold(image):
    unpacked = "sha256:" + hashlib.sha256(image.layer()[1]).hexdigest()
    assert image.config()["rootfs"]["diff_ids"] == [unpacked], unpacked
    blobs = os.listdir(os.path.join(image.folder, "blobs/sha256"))
    assert len(blobs) == 3, f"blobs that nothing names: {blobs}"


def members(image):
    return tarfile.open(fileobj=io.BytesIO(image.layer()[1])).getmembers()


def nothing_else_is_there(image):
    found = members(image)
    names = [member.name for member in found]
    assert names == sorted(set(names)), "a name stands twice, or out of order"
    files = {member.name for member in found if member.isreg()}
    folders = {member.name for member in found if member.isdir()}
    assert len(files) + len(folders) == len(found), "something is neither a file nor a folder"
    strange = [name for name in files - FILES if not name.startswith(ZONES)]
    assert not strange, f"files: {strange}"
    strange = [name for name in folders - FOLDERS if not (name + "/").startswith(ZONES)]
    assert not strange, f"folders: {strange}"
    assert FILES <= files and FOLDERS <= folders, FILES - files | FOLDERS - folders
    for zone in ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"):
        assert ZONES + zone in files, zone
    return f"{len(files)} files, {len(files - FILES)} of them time zones"


def nobody_gets_rights(image):
    seconds = {member.mtime for member in members(image)}
    assert len(seconds) == 1, f"files of several instants: {sorted(seconds)}"
    for member in members(image):
        mode = {PROGRAM: 0o755, DATA: 0o700, "tmp": 0o1777}.get(member.name, 0o755 if member.isdir() else 0o644)
        owner = USER if member.name == DATA else 0
        assert member.mode == mode, f"{member.name} has {member.mode:o}"
        assert (member.uid, member.gid) == (owner, owner), f"{member.name} is of {member.uid}:{member.gid}"
        assert not member.pax_headers, f"{member.name} has attributes: {member.pax_headers}"


def one_program_is_there(image):
    tar = tarfile.open(fileobj=io.BytesIO(image.layer()[1]))
    for member in tar.getmembers():
        if member.isreg() and member.name != PROGRAM:
            head = tar.extractfile(member).read(4)
            assert head != b"\x7fELF" and not head.startswith(b"#!"), f"{member.name} is a program"
    with tempfile.NamedTemporaryFile() as file:
        file.write(tar.extractfile(PROGRAM).read())
        file.flush()
        read = lambda flag: subprocess.run(["readelf", flag, file.name], check=True, capture_output=True, text=True).stdout
        assert "INTERP" not in read("-lW"), "it needs a loader"
        assert "NEEDED" not in read("-dW"), "it needs a library"
    return f"{tar.getmember(PROGRAM).size / 1e6:.1f} MB, static"


def the_container_is_careful(image):
    config = image.config()["config"]
    assert config["User"] == f"{USER}:{USER}", config["User"]
    assert config["Entrypoint"] == ["/" + PROGRAM], config["Entrypoint"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/" + PROGRAM, "health"], config["Healthcheck"]
    assert config["WorkingDir"] == "/" + DATA, config["WorkingDir"]
    assert config["StopSignal"] == "SIGTERM", config["StopSignal"]
    assert "Volumes" not in config, "an engine would make a volume that nobody asked for"
    for name in ("title", "description", "version", "revision", "created", "licenses"):
        key = "org.opencontainers.image." + name
        assert config["Labels"][key] and config["Labels"][key] == image.manifest["annotations"][key], key
    git = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert config["Labels"]["org.opencontainers.image.revision"] == git


def the_bill_is_valid(image):
    bill = Layout(os.path.join(image.folder, "bill"))
    assert bill.manifest["subject"]["digest"] == image.first["digest"], "it is of another image"
    (layer,) = bill.manifest["layers"]
    content = bill.blob(layer)
    with open(os.path.join(image.folder, "bill-of-materials.cdx.json"), "rb") as file:
        assert file.read() == content, "the file beside the image is another one"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(content.decode())
    assert error is None, error
    parts = json.loads(content)
    with open("Cargo.lock", encoding="utf-8") as file:
        lock = file.read()
    for part in parts["components"]:
        entry = f'name = "{part["name"]}"\nversion = "{part["version"]}"\n'
        assert entry in lock, f"{part['purl']} is not in Cargo.lock"
    references = {part["bom-ref"] for part in parts["components"]} | {parts["metadata"]["component"]["bom-ref"]}
    for dependency in parts["dependencies"]:
        missing = {dependency["ref"], *dependency["dependsOn"]} - references
        assert not missing, missing
    return f"CycloneDX {parts['specVersion']}, {len(parts['components'])} packages"


def main():
    image = Layout(sys.argv[1])
    what = sys.argv[2] if len(sys.argv) > 2 else "check"
    if what == "size":
        packed, unpacked = image.layer()
        print(f"{len(packed) / 1e6:.1f} MB packed, {len(unpacked) / 1e6:.1f} MB unpacked")
        return 0
    if what == "list":
        print("\n".join(sorted(member.name for member in members(image))))
        return 0
    if what == "config":
        json.dump(image.config(), sys.stdout)
        return 0
    checks = (
        ("each blob has its digest and is named", digests_hold),
        ("program, certificates and time zones, and nothing else", nothing_else_is_there),
        ("rights, owners and times are those that are meant, and no file has setuid", nobody_gets_rights),
        ("the only program needs no loader and no library", one_program_is_there),
        ("the container has a user, a health check and labels", the_container_is_careful),
        ("the bill of materials is valid CycloneDX of this lock file", the_bill_is_valid),
    )
    failed = 0
    for name, check in checks:
        try:
            note = check(image)
            print(f"ok      {name}" + (f" ({note})" if note else ""))
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
