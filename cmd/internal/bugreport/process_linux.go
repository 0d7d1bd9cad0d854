package bugreport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processFiles are the files of a process that a report has.
var processFiles = []string{"status", "limits", "cgroup", "wchan", "stat", "sched"}

// maxThreads bounds the threads whose state a report has.
const maxThreads = 256

// process adds what the system knows of the process that listens at a control socket, even if that
// process does not answer.
func (r *Report) process(socket string) {
	pid, err := listenerOf(socket, r.answer)
	if err != nil {
		r.lacks("process", err.Error())
		return
	}
	dir := fmt.Sprintf("/proc/%d", pid)
	r.dir, _ = os.Readlink(dir + "/cwd")                                  // stays "" if this user may not read it: only root and the user of lnetd may
	if environ, err := readBounded(dir+"/environ", maxFile); err == nil { // only root and the user of lnetd may read it
		r.clean.environment(strings.Split(string(environ), "\x00"))
	}
	if line, err := readBounded(dir+"/cmdline", maxFile); err == nil {
		words := strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		r.add("process/cmdline", []byte(words+"\n"))
	}
	for _, f := range processFiles {
		r.copy("process/"+f, dir+"/"+f)
	}
	r.add("process/threads", threads(dir))
	open, err := os.ReadDir(dir + "/fd")
	if err != nil {
		r.lacks("process/descriptors", err.Error())
		return
	}
	r.add("process/descriptors", fmt.Appendf(nil, "%d\n", len(open)))
}

// listenerOf returns the ID of the process that listens at a socket.
func listenerOf(socket string, wait time.Duration) (int, error) {
	c, err := net.DialTimeout("unix", socket, wait)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if err2 := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err2 != nil {
		err = err2
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// threads returns a line for each thread: its number, name, state, and where in the kernel it waits.
func threads(dir string) []byte {
	list, _ := filepath.Glob(dir + "/task/[0-9]*") // fails only for an invalid pattern
	var out []byte
	for _, t := range list[:min(len(list), maxThreads)] {
		stat, err := readBounded(t+"/stat", 4096)
		if err != nil {
			continue // the thread has ended
		}
		wchan, _ := readBounded(t+"/wchan", 4096) // after an error, "" is shown
		end := strings.LastIndex(string(stat), ")")
		state := string(stat[end+1:])
		out = fmt.Appendf(out, "%s) %.2s %s\n", stat[:max(end, 0)], state, wchan)
	}
	return out
}

// copy adds a file of the system.
func (r *Report) copy(name, path string) {
	text, err := readBounded(path, 2*maxFile)
	if err != nil {
		r.lacks(name, err.Error())
		return
	}
	r.add(name, text)
}

// maxKeys is the length in bytes of the longest file of keys.
const maxKeys = 4096

// readKeys reads a key file that the daemon names. It opens only regular files, because this process may
// have more rights than the daemon, and opening a device can have effects.
func readKeys(path string) ([]byte, error) {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	var info unix.Stat_t
	if err := unix.Fstat(at, &info); err != nil {
		return nil, err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("no regular file")
	}
	if info.Size > maxKeys {
		return nil, errors.New("too long for a file of keys")
	}
	return readBounded(fmt.Sprintf("/proc/self/fd/%d", at), maxKeys)
}

// readBounded reads at most the given number of bytes of a regular file, such as one in /proc. It refuses
// other files without waiting, for example for the writer of a pipe.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, most))
}
