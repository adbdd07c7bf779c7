"""Has a real builder of containers follow the Containerfile, and compares what it makes with the image.

    containerfile.py FILES CONFIG UNPACKED SCRATCH

FILES are those of the image as `--files` lays them out, CONFIG the settings of its container, UNPACKED the image as a tool
unpacked it. The image of Rust that the Containerfile begins with is not to be had here, and neither is the network: a
stand-in takes its place whose cargo lays out FILES. So the last stage is real and the first is not. Needs root.
"""

import json
import os
import shutil
import stat
import subprocess
import sys

STEPS = {"apt-get": "exit 0", "cargo": "cp -a /prepared /files"}
TOOLS = ("sh", "cp", "mkdir", "mv")
CONTEXT = (".cargo", ".git", "crates", "schemas", "tests")


class Builder:
    def __init__(self, scratch):
        self.words = ["buildah", "--storage-driver", "vfs", "--root", os.path.join(scratch, "store"), "--runroot", os.path.join(scratch, "run")]
        self.environment = dict(os.environ, BUILDAH_ISOLATION="chroot")

    def run(self, *arguments, **more):
        command = self.words + list(arguments)
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, check=True, text=True, **more)
        return done.stdout.strip()


def first_base():
    with open("Containerfile", encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith("FROM "))


def make_stand_in(builder, files, scratch):
    root = os.path.join(scratch, "base")
    os.makedirs(os.path.join(root, "bin"))
    os.mkdir(os.path.join(root, "tmp"))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    for name in TOOLS:
        os.symlink("busybox", os.path.join(root, "bin", name))
    for name, step in STEPS.items():
        path = os.path.join(root, "bin", name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{step}\n")
        os.chmod(path, 0o755)
    subprocess.run(["cp", "-a", files, os.path.join(root, "prepared")], check=True)
    container = builder.run("from", "scratch")
    builder.run("copy", "--quiet", container, root, "/")
    builder.run("config", "--env", "PATH=/bin", container)
    builder.run("commit", "--quiet", container, first_base())


def build(builder, labels, scratch):
    context = os.path.join(scratch, "context")
    for name in CONTEXT:
        os.makedirs(os.path.join(context, name))
    for name in ("Cargo.lock", "Cargo.toml", "Containerfile"):
        shutil.copy(name, context)
    arguments = ["build", "--pull-never", "--format", "docker", "--tag", "tidings"]
    for name in ("REVISION", "CREATED"):
        arguments += ["--build-arg", f"{name}={labels['org.opencontainers.image.' + name.lower()]}"]
    builder.run(*arguments, context)
    built = json.loads(builder.run("inspect", "--type", "image", "localhost/tidings"))["Docker"]["config"]
    return built, builder.run("from", "--pull-never", "localhost/tidings")


def describe_tree(root):
    """Kind, rights and owner of all that is below a folder, and what its files hold."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            content = None
            if stat.S_ISREG(about.st_mode):
                with open(path, "rb") as file:
                    content = hash(file.read())
            found[os.path.relpath(path, root)] = (oct(about.st_mode), about.st_uid, about.st_gid, content)
    return found


def main():
    files, config, unpacked, scratch = sys.argv[1:]
    with open(config, encoding="utf-8") as file:
        wanted = json.load(file)["config"]
    builder = Builder(scratch)
    make_stand_in(builder, files, scratch)
    built, container = build(builder, wanted["Labels"], scratch)
    for name in [name for name in built["Labels"] if name.startswith("io.buildah.")]:
        del built["Labels"][name]
    for name, value in wanted.items():
        assert built[name] == value, f"{name} is {built[name]}, not {value}"
    theirs, ours = describe_tree(builder.run("mount", container)), describe_tree(unpacked)
    # Else its folder could not be deleted.
    builder.run("umount", container)
    other = sorted(path for path in theirs.keys() | ours.keys() if theirs.get(path) != ours.get(path))
    assert not other, [(path, theirs.get(path), ours.get(path)) for path in other[:5]]
    print(f"note    {len(ours)} files and folders, {len(wanted)} settings")


main()
