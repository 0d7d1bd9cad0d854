package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// socketName is the control socket's name in the runtime directory.
const socketName = "lnetd.sock"

// Dirs finds the directories of lnetd for a user.
type Dirs struct {
	Getenv func(string) string // returns the value of an environment variable
	UID    int                 // number of the user
}

// StateDir is the directory of data that outlives the process: $STATE_DIRECTORY of systemd, else
// /var/lib/lnetd for root and $XDG_STATE_HOME/lnetd (~/.local/state/lnetd) for users.
func (p Dirs) StateDir() string {
	dir, _ := p.stateDir()
	return dir
}

// stateDir returns StateDir, and the variable of the environment that names it, such as
// $STATE_DIRECTORY; "": none.
func (p Dirs) stateDir() (dir, variable string) {
	if dir := p.systemd("STATE_DIRECTORY"); dir != "" {
		return dir, "$STATE_DIRECTORY"
	}
	if p.UID == 0 {
		return "/var/lib/lnetd", ""
	}
	if dir := p.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lnetd"), "$XDG_STATE_HOME"
	}
	return filepath.Join(p.Getenv("HOME"), ".local", "state", "lnetd"), "$HOME"
}

// RuntimeDir is the directory in which lnetd keeps its socket: $RUNTIME_DIRECTORY of systemd. If systemd
// does not set this variable, the directory is /run/lnetd for root, and for users $XDG_RUNTIME_DIR/lnetd or
// a directory of their own in the system's directory for temporary files.
func (p Dirs) RuntimeDir() string {
	dir, _ := p.runtimeDir()
	return dir
}

// runtimeDir returns RuntimeDir, and the variable of the environment that names it; "": none.
func (p Dirs) runtimeDir() (dir, variable string) {
	if dir := p.systemd("RUNTIME_DIRECTORY"); dir != "" {
		return dir, "$RUNTIME_DIRECTORY"
	}
	if p.UID == 0 {
		return "/run/lnetd", ""
	}
	if dir := p.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lnetd"), "$XDG_RUNTIME_DIR"
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("lnetd-%d", p.UID)), ""
}

// systemd returns the first directory in the list that systemd passes in an environment
// variable.
func (p Dirs) systemd(variable string) string {
	dir, _, _ := strings.Cut(p.Getenv(variable), ":")
	return dir
}

// SocketIn is the control socket's path in a runtime directory.
func SocketIn(runtimeDir string) string { return filepath.Join(runtimeDir, socketName) }

// ClientSocket is the path of the control socket for a client: the user's own if there is
// one, else the system's. A socket in a directory of another user is not the user's own,
// whatever its name.
func (p Dirs) ClientSocket() string {
	own := SocketIn(p.RuntimeDir())
	if exists(own) && p.CheckOwner(filepath.Dir(own)) == nil {
		return own
	}
	if system := SocketIn("/run/lnetd"); exists(system) {
		return system
	}
	return own
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CheckOwner refuses a directory that belongs to neither the user nor root, because in the
// directory for temporary files any user can create one with that name. Root may use every
// directory.
func (p Dirs) CheckOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && p.UID != 0 && stat.Uid != 0 && int(stat.Uid) != p.UID {
		return fmt.Errorf("%s belongs to user %d", dir, stat.Uid)
	}
	return nil
}
