package node

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
)

// TestHandlerUser: a handler with an unknown user is refused with an error that has its position
// in the file.
func TestHandlerUser(t *testing.T) {
	cfg := config.Default()
	cfg.Networks = "lo"
	cfg.Handlers = []config.Handler{{Name: "h", On: []string{"gossip"}, Run: []string{"/bin/true"}, User: "no such user", UserAt: config.Position{File: "f", Line: 7, Column: 3}}}
	_, err := New(Config{Config: cfg})
	if at, ok := errors.AsType[*config.Error](err); !ok || at.Line != 7 || !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "user of the handler h: ") {
		t.Errorf("%v", err)
	}
}
