// Package web is the HTTP server by which the daemon shows its state on the network: a few pages
// that can only be read, for Prometheus and browsers. The control socket, by which the daemon
// takes orders, has a server of its own (package control).
//
// Every program that reaches the address may read, so nothing that changes the daemon belongs
// here, and no request may cost much. What costs something, such as a capture, asks for a token
// itself.
//
//   - a registered page answers only GET and HEAD without a body; a registered order answers only a POST
//     with a short body in JSON, which a web page of another host cannot send;
//   - the Host header must name this host, so that a web page cannot read the daemon through
//     a browser on this network (DNS rebinding), and an Origin header must name the same host;
//   - the number of connections, the size of headers, and the times to send a request and to
//     receive an answer are bounded. When there are too many connections, one is closed: first
//     those without a request.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	maxConns      = 32               // largest number of open connections
	maxHeader     = 8 << 10          // largest size of a request's headers in bytes
	maxOrder      = 4 << 10          // largest size of an order's body in bytes
	headerTimeout = 5 * time.Second  // time in which the headers of a request must arrive
	answerTimeout = 10 * time.Second // time in which a client must read an answer
	idleTimeout   = 2 * time.Minute  // longest time between two requests of a connection
)

// Config configures a Server.
type Config struct {
	// Hosts are names and IP addresses of this host that are accepted in the Host header, besides the
	// address that the client has reached, the hostname and localhost.
	Hosts []string
	Log   *slog.Logger // gets errors of clients, at level debug; required
}

// Server serves pages. Handle and HandleOrder register them, before Start.
type Server struct {
	cfg    Config
	pages  map[string]http.Handler
	orders map[string]http.Handler
	guard  *guard
	http   http.Server
	done   chan struct{} // closed when Serve has returned; nil before Start
}

// New returns a server without pages.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, pages: map[string]http.Handler{}, orders: map[string]http.Handler{}}
	s.guard = newGuard(cfg, s.pages, s.orders)
	s.http = http.Server{
		Handler:           s.guard,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Handle registers the page of a path, which must match exactly.
func (s *Server) Handle(path string, page http.Handler) { s.pages[path] = page }

// HandleOrder registers the handler of a path that is asked for by POST, with a JSON object of at most
// 4 KiB as the body.
func (s *Server) HandleOrder(path string, order http.Handler) { s.orders[path] = order }

// SetHosts replaces Config.Hosts, at any time.
func (s *Server) SetHosts(hosts []string) { s.guard.setHosts(hosts) }

// Start serves connections of l until Close is called.
func (s *Server) Start(l net.Listener) {
	s.done = make(chan struct{})
	all := newCrowd(l, maxConns)
	s.http.ConnState = all.note
	go func() {
		defer close(s.done)
		if err := s.http.Serve(all); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("the HTTP server has ended", slog.Any("err", err))
		}
	}()
}

// Close closes the listener and all connections. It waits for answers that are being written, but
// for a second at most.
func (s *Server) Close(ctx context.Context) error {
	if s.done == nil {
		return nil
	}
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := s.http.Shutdown(brief)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}
