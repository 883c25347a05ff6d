# SPDX-License-Identifier: Apache-2.0
"""Spack recipe. Copy it to packages/slowpath/package.py of a Spack repository, beside the source archive's checksum
if your site asks for one; docs/how-to/install-offline.md says how.
"""

# ruff: noqa: F403, F405, SIM105
# The names come from Spack, as in every recipe.
import os

from spack.package import *

try:  # Spack 1.0 moved the build systems into the repository of packages
    from spack_repo.builtin.build_systems.python import PythonPackage
except ImportError:
    pass


class Slowpath(PythonPackage):
    """Finds, explains and proves slow paths in MPI communication."""

    # The archive is made from a checkout: python -m build --sdist
    manual_download = True
    url = f"file://{os.getcwd()}/slowpath-0.1.0.tar.gz"

    license("Apache-2.0", checked_by="slowpath")

    version("0.1.0")

    variant("blas", default=True, description="A BLAS for the experiment cannon")

    # The engine is compiled at first use, for whatever MPI is loaded then: a compiler and CMake are needed at run time.
    depends_on("c", type=("build", "run"))
    depends_on("cxx", type=("build", "run"))
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.21:", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("cmake@3.20:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-msgspec@0.18.6:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-platformdirs@4:", type=("build", "run"))
    depends_on("py-pyelftools@0.30:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-scipy@1.11:", type=("build", "run"))
    depends_on("mpi", type="run")
    depends_on("openblas", type="run", when="+blas")

    conflicts("%gcc@:11", msg="the engine is C++20: it needs GCC 12 or later")

    @run_after("install")
    def install_man_pages_and_completion(self):
        """Made from the program's own --help, so that they are never older than it."""
        python("packaging/man/make.py", join_path(self.prefix.share, "man", "man1"))
        python("packaging/completion/make.py", self.prefix.share)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """Starts no MPI."""
        Executable(join_path(self.prefix.bin, "slowpath"))("--version")
