package shell

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// TestMessagesEnd: all calls of Wait return when the last message ends, also if that message was
// begun during these calls.
func TestMessagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Messages
		m.Init()
		if m.Begin() != 1 || m.Begin() != 2 || m.Len() != 2 || m.Closing() {
			t.Fatalf("%d messages, closing %v", m.Len(), m.Closing())
		}
		m.Close()
		if !m.Closing() {
			t.Fatal("not closing")
		}
		var waiting sync.WaitGroup
		done := make(chan error, 2)
		for range cap(done) {
			waiting.Go(func() { done <- m.Wait(t.Context()) })
		}
		m.End()
		m.Begin() // a message that begins after Close: its owner refuses it, which ends it
		m.End()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("waited for nothing while a message is left")
		}
		m.End()
		waiting.Wait()
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := m.Wait(t.Context()); err != nil || m.Len() != 0 {
			t.Errorf("%d left, %v", m.Len(), err)
		}
	})
}

// TestMessagesCanceled: when a context ends, the call of Wait that was given this context ends, and no other.
func TestMessagesCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Messages
		m.Init()
		m.Begin()
		m.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		m.End()
		if err := m.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
