package incarnation

import "testing"

// WatchSync has f called instead of what syncs a directory, until the test ends; sync is
// that.
func WatchSync(t *testing.T, f func(dir string, sync func(string) error) error) {
	real := syncDir
	syncDir = func(dir string) error { return f(dir, real) }
	t.Cleanup(func() { syncDir = real })
}
