package incarnation

import "testing"

// WatchSync replaces the function that syncs a directory by f until the test ends. The argument
// sync of f is the original function.
func WatchSync(t *testing.T, f func(dir string, sync func(string) error) error) {
	real := syncDir
	syncDir = func(dir string) error { return f(dir, real) }
	t.Cleanup(func() { syncDir = real })
}
