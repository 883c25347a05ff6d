-- SPDX-License-Identifier: Apache-2.0
-- For Lmod. Slowpath is a virtual environment in one folder: set `root` to it.
-- Load it beside the MPI to be measured: the engine is compiled for that MPI at first use, into the cache.

local version = "0.1.0"
local root = pathJoin("/opt/slowpath", version)

whatis("Name: slowpath")
whatis("Version: " .. version)
whatis("Description: Finds, explains and proves slow paths in MPI communication")
help([[
Slowpath finds, explains and proves slow paths in MPI communication.
Load an MPI and a C++20 compiler, then: slowpath doctor; slowpath run
]])
conflict("slowpath")

-- Only the program, not the whole bin folder: its python and mpiexec must not hide those of other modules.
prepend_path("PATH", pathJoin(root, "modulebin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))

-- Compute nodes often see no home folder, or a slow one; engines are found again by MPI, source and compiler.
local scratch = os.getenv("SCRATCH")
if scratch and not os.getenv("SLOWPATH_CACHE_DIR") then
    setenv("SLOWPATH_CACHE_DIR", pathJoin(scratch, ".cache/slowpath"))
end
