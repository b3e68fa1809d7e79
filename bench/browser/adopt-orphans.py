"""Runs a command and adopts its orphans.

The system adds the processor time of a process to its parent's when that waits for it. Chromium does not wait for all of its
processes, so theirs would be lost. Here they become children of this one, which waits for them all.
"""
import ctypes
import os
import sys

PR_SET_CHILD_SUBREAPER = 36
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    sys.exit("adopt-orphans: the system does not let this process adopt orphans")

child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
# The channel to the command is not ours.
os.closerange(3, 64)
while True:
    pid, status = os.wait()
    if pid == child:
        sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
