package program

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// User is the user as which a program runs.
type User struct {
	Name   string   // login name
	Home   string   // home directory
	UID    uint32   // numeric user id
	GID    uint32   // number of the primary group
	Groups []uint32 // numbers of all groups, GID included
}

// LookupUser finds a user by name or number.
func LookupUser(name string) (*User, error) {
	found, err := user.Lookup(name)
	if err != nil {
		if _, number := strconv.ParseUint(name, 10, 32); number != nil {
			return nil, err
		}
		if found, err = user.LookupId(name); err != nil {
			return nil, err
		}
	}
	u := &User{Name: found.Username, Home: found.HomeDir}
	if u.UID, err = id(found.Uid); err != nil {
		return nil, err
	}
	if u.GID, err = id(found.Gid); err != nil {
		return nil, err
	}
	groups, err := found.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", name, err)
	}
	for _, g := range groups {
		gid, err := id(g)
		if err != nil {
			return nil, err
		}
		u.Groups = append(u.Groups, gid)
	}
	return u, nil
}

func id(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}

// UserOf returns the user as which a configured program runs; nil stands for the user of this
// process. what names the program in errors.
func UserOf(what, name string) (*User, error) {
	if name == "" {
		return nil, nil
	}
	u, err := LookupUser(name)
	if err != nil {
		return nil, cli.Hint(cli.Errnof(syscall.EINVAL, "user of the %s: %w", what, err), "see 'getent passwd %s'", name)
	}
	if uid := os.Geteuid(); uid != 0 && uint32(uid) != u.UID {
		return nil, cli.Hint(cli.Errnof(syscall.EPERM, "%s: only root can run programs as %s", what, u.Name), "leave out user, or start lnetd as root")
	}
	if os.Geteuid() != 0 {
		return nil, nil // nil: this process runs as that user already
	}
	return u, nil
}

// UserPath is the PATH of programs that run as another user. This process's own PATH may have
// folders that only root may read.
const UserPath = "/usr/local/bin:/usr/bin:/bin"

// environment returns the user's variables. None of them comes from this process.
func (u *User) environment() []string {
	return []string{"PATH=" + UserPath, "HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name}
}

// credential makes a process run as the user, with the user's groups instead of those of lnetd.
// If the user is not root, the process also loses its capabilities.
func (u *User) credential() *syscall.Credential {
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}
