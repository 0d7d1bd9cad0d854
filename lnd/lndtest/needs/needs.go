// Package needs leaves out tests that need something this machine does not have, such as a program that is
// not installed. On a build machine (CI=true) such a test fails instead: it would never run there, and
// .ci/packages installs all that tests need.
package needs

import (
	"os"
	"os/exec"
)

// T is what this package needs of a test; a *testing.T is one. Fatalf and Skipf do not return.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Program returns the path of a program of the system. It ends the test if the program is not installed.
func Program(t T, name string) string {
	t.Helper()
	path, err := Find(name)
	if err != nil {
		Missing(t, name+" is not installed; as root, .ci/packages installs all that tests need")
	}
	return path
}

// Find returns the path of a program of the system, or an error if it is not installed.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name) // Debian has this folder in the PATH of root alone
	}
	return path, err
}

// Missing ends the test because this machine lacks something: it skips the test with the reason, or with
// CI=true fails it.
func Missing(t T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s", reason)
	} else {
		t.Skipf("%s", reason)
	}
}
