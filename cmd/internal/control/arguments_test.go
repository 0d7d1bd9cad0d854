package control_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	. "ulnet/cmd/internal/control"
	settings "ulnet/cmd/internal/daemon"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// TestArguments: clients that may only look get no arguments of programs, which may have secrets.
func TestArguments(t *testing.T) {
	spec.Covers(t, "OP-5")
	l := &config.Loaded{Config: config.Default(), Sources: []config.Source{{Key: "handlers.mail.run", Value: "[/bin/mail, token]", From: "f:1"}}}
	l.Networks = "lo"
	l.Handlers = []config.Handler{{Name: "mail", On: []string{"zone"}, Run: []string{"/bin/mail", "token"}}}
	n, err := node.New(node.Config{Config: l.Config})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	log := settings.NewLog(cli.Env{Stderr: t.Output(), Getenv: func(string) string { return "" }}, t.Output(), &l.Config)
	var access atomic.Uint32 // access that the server grants to the next client
	access.Store(uint32(AccessWrite))
	d := serveAs(t, Config{Routes: append(n.Routes(), settings.NewSettings(l, n, log).Routes()...)}, func() Access { return Access(access.Load()) })
	for as, want := range map[Access]string{AccessRead: config.NoArguments, AccessWrite: "token"} {
		access.Store(uint32(as))
		values, err := settings.OpConfig.Call(t.Context(), NewClient(d.path), None{})
		if i := slices.IndexFunc(values, func(v config.Value) bool { return v.Key == "handlers.mail.run" }); err != nil || i < 0 || values[i].Value != "[/bin/mail, "+want+"]" {
			t.Errorf("access %d: %+v, %v", as, values, err)
		}
		list, err := node.OpHandlers.Call(t.Context(), NewClient(d.path), None{})
		if err != nil || len(list) != 1 || !slices.Equal(list[0].Program, []string{"/bin/mail", want}) {
			t.Errorf("access %d: %+v, %v", as, list, err)
		}
	}
}
