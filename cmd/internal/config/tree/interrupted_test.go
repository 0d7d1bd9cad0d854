package tree

import (
	"context"
	"slices"
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
// sections with items, and complete otherwise. Errors of sections that need no node are reported up to there.
func TestInterruptedBetweenSections(t *testing.T) {
	t.Parallel()
	const (
		net   = "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
		route = "route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n"
		wrong = "peer: 7\n" // a section that has only an error
		ping  = "ping:\n- primary nid: 10.0.0.1@tcp\n"
	)
	type told struct {
		line  int
		errno syscall.Errno
	}
	const refused, interrupted = syscall.EINVAL, syscall.EINTR
	for text, want := range map[string][]told{
		net:                        nil,
		net + route:                {{6, interrupted}},
		net + wrong:                {{5, refused}},
		net + wrong + "udsp: 8\n":  {{5, refused}, {6, refused}},
		net + wrong + route:        {{5, refused}, {7, interrupted}},
		net + route + wrong:        {{6, interrupted}},
		wrong + net + route:        {{1, refused}, {7, interrupted}},
		net + ping:                 {{5, refused}},
		net + ping + wrong + route: {{5, refused}, {7, refused}, {9, interrupted}},
	} {
		f, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := Apply(ctx, endingTarget{nil, cancel}, AddMissing, f)
		var got []told
		for _, e := range r.Errs {
			got = append(got, told{e.Line, e.Errno})
		}
		if len(r.Done) != 1 || !slices.Equal(got, want) {
			t.Errorf("%q: %d items done, errors %v, want %v", text, len(r.Done), got, want)
		}
	}
}
