package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Capture writes every message from now on to w as pcapng until ctx ends. Its two methods write
// messages with and without their payload. If there are too many captures, they return an error and write
// nothing.
type Capture interface {
	View(ctx context.Context, w io.Writer) error
	ViewHeaders(ctx context.Context, w io.Writer) error
}

// Config configures a Server. Zero bounds mean their defaults.
type Config struct {
	Routes  []Route      // routes of modules, in addition to OwnRoutes
	Events  *Events      // source of the events; required
	Capture Capture      // nil: the daemon captures nothing
	Log     *slog.Logger // nil: nothing is logged

	MaxConns       int           // bound of the connections of root and the daemon's user together, and of those of the socket's group; default 128
	MaxStreams     int           // bound of the streams, for the same two kinds of clients; default 64
	RequestTimeout time.Duration // time to read a request without its data; default 10 s
	StallTimeout   time.Duration // longest time in which an answer makes no progress; default 30 s
	RenewInterval  time.Duration // how often Serve sees whether the file of the socket was removed; default 10 s
	EndTimeout     time.Duration // how long Serve waits for operations that ignore the end of their context; default 2 s
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaxConns == 0 {
		c.MaxConns = 128
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 64
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 10 * time.Second
	}
	if c.StallTimeout == 0 {
		c.StallTimeout = 30 * time.Second
	}
	if c.RenewInterval == 0 {
		c.RenewInterval = 10 * time.Second
	}
	if c.EndTimeout == 0 {
		c.EndTimeout = 2 * time.Second
	}
	return c
}

const (
	maxRequest  = 64 << 10 // largest request of most operations, without the data after it, in bytes
	maxHeader   = 16 << 10 // largest headers of a request, in bytes
	idleTimeout = time.Minute

	// maxGroupCaptures bounds the captures of the socket's group. A capture.Writer serves 16 captures at
	// a time: most of them remain for root, for the file of --capture and for the page.
	maxGroupCaptures = 6
)

// ErrShutdown is the cause with which operations end when the server stops.
var ErrShutdown = errors.New("lnetd is shutting down")

// Server serves the control interface.
type Server struct {
	cfg     Config
	mux     *http.ServeMux
	streams [accessWrite + 1]chan struct{} // a token for each stream, by the access of its client
	viewers chan struct{}                  // a token for each capture of the socket's group
	access  func(net.Conn) access          // returns the access of a client; set by Serve unless a test has set it
	active  running
}

// New returns a server.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, mux: http.NewServeMux(), viewers: make(chan struct{}, maxGroupCaptures)}
	for i := range s.streams {
		s.streams[i] = make(chan struct{}, cfg.MaxStreams)
	}
	s.routes()
	return s
}

// Serve serves the socket until ctx ends, and makes it again if its file is removed. Then it ends running operations with
// ErrShutdown, waits for them and closes the socket. For operations that do not end it waits no longer
// than Config.EndTimeout, and logs which ones they are.
func (s *Server) Serve(ctx context.Context, socket *Socket) error {
	err := s.admitBy(socket)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	conns := admit(socket, s.cfg.MaxConns, s.access)
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	h := s.httpServer(conns, base)
	renewing, stopRenewing := context.WithCancel(ctx)
	defer stopRenewing()
	go s.renew(renewing, socket)
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(conns) }()
	select {
	case err = <-failed:
		cancel(err)
		s.stop(h)
	case <-ctx.Done():
		cancel(ErrShutdown)
		s.stop(h)
		<-failed // wait until h.Serve has returned; its error is ErrServerClosed
	}
	s.awaitOperations()
	return err
}

// admitBy makes the owner and the group of a socket decide what clients may do, unless a test has set another
// policy.
func (s *Server) admitBy(socket *Socket) error {
	first, err := socket.policy()
	if err != nil || s.access != nil {
		return err
	}
	s.access = func(c net.Conn) access {
		who, err := socket.policy()
		if err != nil { // the file was removed or replaced after the client had connected
			who = first
		}
		return s.accessOfPeer(who, c)
	}
	return nil
}

// httpServer returns the server of connections whose requests get contexts that are derived from base.
func (s *Server) httpServer(conns *admission, base context.Context) *http.Server {
	return &http.Server{
		Handler:           s.mux,
		ReadHeaderTimeout: s.cfg.RequestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, accessKey{}, c.(*admittedConn).access)
		},
		ConnState: conns.state,
	}
}

// awaitOperations waits for operations that still run, but not for those that ignore the end of their
// context, such as one that waits for a disk.
func (s *Server) awaitOperations() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.EndTimeout)
	defer cancel()
	if late := s.active.await(ctx); late != "" {
		s.cfg.Log.Warn("operations on the control socket have not ended: lnetd ends without waiting for them", slog.String("operations", late))
	}
}

// stop gives answers that are being written one second to end.
func (s *Server) stop(h *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.Shutdown(ctx) != nil {
		_ = h.Close()
	}
}

// accessKey is the context key of a connection's access.
type accessKey struct{}

// accessOfPeer returns the access of the process at the other end of a connection.
func (s *Server) accessOfPeer(who policy, c net.Conn) access {
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		return accessNone
	}
	cred, err := peerCredentials(unixConn)
	if err != nil {
		s.cfg.Log.Warn("credentials of a control connection", slog.Any("err", err))
		return accessNone
	}
	return who.of(cred)
}
