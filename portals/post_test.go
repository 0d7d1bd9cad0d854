package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/portals"
)

// TestPost: Post adds an entry and its MD, which both end with one message. An error of either call leaves nothing.
func TestPost(t *testing.T) {
	h := newHarness(t)
	var events log
	md := portals.MD{Threshold: 1, Options: portals.OpPut, Handler: events.handle}
	for name, post := range map[string]func() (portals.MEHandle, portals.MDHandle, error){
		"no portal": func() (portals.MEHandle, portals.MDHandle, error) {
			return h.Post(-1, portals.Match{Ignore: 1}, md, portals.Unlink)
		},
		"neither PUT nor GET": func() (portals.MEHandle, portals.MDHandle, error) {
			return h.Post(5, portals.Match{Ignore: 1}, portals.MD{Threshold: 1}, portals.Unlink)
		},
	} {
		if entry, handle, err := post(); entry != 0 || handle != 0 || !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v, %v, %v", name, entry, handle, err)
		}
	}
	entry, handle, err := h.Post(5, portals.Match{Ignore: 1}, md, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	from := h.bind(portals.MD{Threshold: 1})
	if err := h.Put(portals.PutRequest{MD: from, Target: h.self, Portal: 5}); err != nil {
		t.Fatal(err)
	}
	if got := events.take(); len(got) != 1 || got[0] != "PUT!" {
		t.Errorf("events %v", got)
	}
	if err := h.MDUnlink(handle); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("the MD: %v", err)
	}
	if err := h.MEUnlink(entry); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("the entry: %v", err)
	}
}
