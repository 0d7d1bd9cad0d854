package needs

import "testing"

// outcome stands in for a testing.T: it counts the calls of Skipf and Fatalf, which do not end the test.
type outcome struct{ skipped, failed int }

func (o *outcome) Helper()               {}
func (o *outcome) Skipf(string, ...any)  { o.skipped++ }
func (o *outcome) Fatalf(string, ...any) { o.failed++ }

// TestProgram looks for a program that every system has, and for one that no system has. If a program is
// missing, the test is skipped, and on a build machine (CI=true) it fails.
func TestProgram(t *testing.T) {
	if path := Program(t, "sh"); path == "" {
		t.Error("sh has no path")
	}
	for ci, want := range map[string]outcome{"": {skipped: 1}, "true": {failed: 1}} {
		t.Setenv("CI", ci)
		var got outcome
		Program(&got, "no-system-has-this")
		if got != want {
			t.Errorf("with CI=%s: %+v, want %+v", ci, got, want)
		}
	}
}
