package tree

import (
	"context"
	"syscall"
	"testing"
)

// endingTarget is a target whose context ends while an NI is added, which is added nevertheless.
type endingTarget struct {
	Target
	end context.CancelFunc
}

func (t endingTarget) AddNI(context.Context, string, NI) error {
	t.end()
	return nil
}

// TestInterruptedBetweenSections: an import that ends after the last item of a section is interrupted if there are further
// sections with items, and complete otherwise.
func TestInterruptedBetweenSections(t *testing.T) {
	t.Parallel()
	const net = "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
	for text, want := range map[string]int{net: 0, net + "route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n": 6} {
		f, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := Apply(ctx, endingTarget{nil, cancel}, AddMissing, f)
		line := 0
		if len(r.Errs) == 1 && r.Errs[0].Errno == syscall.EINTR {
			line = r.Errs[0].Line
		}
		if len(r.Done) != 1 || len(r.Errs) > 1 || line != want {
			t.Errorf("%q: %d items done, errors %v; want one of line %d", text, len(r.Done), r.Errs, want)
		}
	}
}
