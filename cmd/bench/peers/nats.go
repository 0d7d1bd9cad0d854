package main

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
)

// The workers of NATS are a server, a client that answers requests, and a client with callers. All
// have the order "cpu".
var (
	natsServer    = worker.Of("nats server", serveNATS)
	natsResponder = worker.Of("nats responder", respond)
	natsCallers   = worker.Of("nats callers", startCallers)
)

// natsSubject is the subject of requests. natsTimeout is the longest wait for an answer.
const (
	natsSubject = "echo"
	natsTimeout = 20 * time.Second
)

// serveNATS starts a server with the defaults, which logs nothing, and returns its address.
func serveNATS(w *worker.Worker, _ struct{}) (at netip.AddrPort, err error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		return at, err
	}
	w.Defer(s.Shutdown)
	worker.Order(w, "cpu", rival.CPU)
	go s.Start()
	if !s.ReadyForConnections(natsTimeout) {
		return at, errors.New("the server of NATS does not get ready")
	}
	return s.Addr().(*net.TCPAddr).AddrPort(), nil
}

// connectNATS connects a client to the server.
func connectNATS(w *worker.Worker, server netip.AddrPort) (*nats.Conn, error) {
	c, err := nats.Connect("nats://" + server.String())
	if err != nil {
		return nil, err
	}
	w.Defer(c.Close)
	worker.Order(w, "cpu", rival.CPU)
	return c, nil
}

// respond starts the client that answers each request with what the request says.
func respond(w *worker.Worker, server netip.AddrPort) (bool, error) {
	c, err := connectNATS(w, server)
	if err != nil {
		return false, err
	}
	// A failed answer needs no report here: its caller gets no answer in time.
	if _, err := c.Subscribe(natsSubject, func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return false, err
	}
	return true, c.Flush()
}

// startCallers starts the client of the callers, which share its connection. The order "call" runs
// them and returns how long they took.
func startCallers(w *worker.Worker, server netip.AddrPort) (bool, error) {
	c, err := connectNATS(w, server)
	if err != nil {
		return false, err
	}
	payload := make([]byte, 8)
	worker.Order(w, "call", func(calls rival.Calls) (time.Duration, error) {
		return calls.Run(func(int) error {
			_, err := c.Request(natsSubject, payload, natsTimeout)
			return err
		})
	})
	return true, nil
}
