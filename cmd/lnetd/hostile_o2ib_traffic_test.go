//go:build linux

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnet/nid"
)

// steady is the traffic that a node requests until the test ends: bulk data by RDMA, and
// payloads that fit into a message. It compares all data that arrives.
type steady struct {
	from    string
	rounds  atomic.Int64
	failed  atomic.Pointer[error]
	content []byte
}

const (
	steadyPortal = 40
	steadyBits   = 7
	// steadyPause leaves CPU time to the attackers.
	steadyPause = 20 * time.Millisecond
)

// exchange makes a daemon fetch data from another one, which offers memory with the data.
func exchange(t *testing.T, by *lnetdtest.Daemon, from string, at *lnetdtest.Daemon, target string) *steady {
	t.Helper()
	s := &steady{from: from, content: make([]byte, 100_000)}
	rand.NewChaCha8([32]byte{1}).Read(s.content)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	ready, over := make(chan struct{}), make(chan error, 1)
	running.Go(func() {
		offer := node.ServeRequest{Portal: steadyPortal, MatchBits: steadyBits}
		over <- node.OpServe.CallWith(ctx, at.Control(), offer, bytes.NewReader(s.content), func(step node.Step) error {
			if step.Ready {
				close(ready)
			}
			return nil
		})
	})
	select {
	case <-ready:
	case err := <-over:
		t.Fatalf("offer memory: %v", err)
	}
	running.Go(func() { s.run(ctx, by, nid.ProcessID{NID: nid.MustParse(target + "@o2ib"), PID: nid.LustrePID}) })
	return s
}

func (s *steady) run(ctx context.Context, by *lnetdtest.Daemon, target nid.ProcessID) {
	pause := time.NewTicker(steadyPause)
	defer pause.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		length := []int{100, len(s.content) - 1000}[n%2]
		if err := s.fetch(ctx, by, target, n%1000, length); err != nil && ctx.Err() == nil {
			s.failed.Store(&err)
			return
		}
		s.rounds.Add(1)
		<-pause.C
	}
}

var errContent = errors.New("other data than were asked for")

// fetch fetches a part of the content and compares it.
func (s *steady) fetch(ctx context.Context, by *lnetdtest.Daemon, target nid.ProcessID, at, length int) error {
	var got bytes.Buffer
	err := node.OpGet.Call(ctx, by.Control(), node.GetRequest{
		Target: target, Portal: steadyPortal, MatchBits: steadyBits, Offset: uint32(at), Length: uint64(length), Timeout: pingLimit,
	}, func(step node.Step) error {
		if e := step.Event; e != nil && e.Status != 0 {
			return fmt.Errorf("%s with %d", e.Type, e.Status)
		}
		_, err := io.Copy(&got, bytes.NewReader(step.Payload))
		return err
	})
	if err == nil && !bytes.Equal(got.Bytes(), s.content[at:at+length]) {
		err = errContent
	}
	return err
}
