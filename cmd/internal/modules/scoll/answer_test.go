package scoll

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/scoll"
)

// TestRefusalsNameKeys: the text of a refusal names the key of the configuration that raises the
// limit, and has the same errno as other refusals of that kind.
func TestRefusalsNameKeys(t *testing.T) {
	l := config.Loaded{Config: config.Default()}
	values := l.Values()
	for status, want := range map[scoll.Status]struct {
		key   string
		errno syscall.Errno
	}{
		scoll.EMAXACTIVE:  {"max_active", syscall.EBUSY},
		scoll.EMAXGROUPS:  {"max_groups", syscall.EBUSY},
		scoll.EMAXMEMORY:  {"max_memory", syscall.EBUSY},
		scoll.EMAXMEMBERS: {"max_members", syscall.EMSGSIZE},
	} {
		if text := unreachedText(status); !strings.Contains(text, "raise "+want.key+" in the section scoll") || !strings.HasSuffix(text, " there") {
			t.Errorf("%v: %q", status, text)
		}
		if !slices.ContainsFunc(values, func(v config.Value) bool {
			return v.Key == "scoll."+want.key || v.Key == "scoll.admin."+want.key
		}) {
			t.Errorf("there is no key %s", want.key)
		}
		if err := failed(status); !errors.Is(err, want.errno) || !errors.Is(err, status) || cli.HintOf(err) == "" {
			t.Errorf("%v: %v", status, err)
		}
	}
	if err := failed(scoll.EMAXLISTS); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("%v", err)
	}
}
