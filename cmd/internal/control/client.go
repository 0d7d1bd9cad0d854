package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
)

// Client sends requests to a daemon. An operation is called through its own value, as in
// node.OpStatus.Call(ctx, client, control.None{}). A Client is safe for concurrent use; its
// errors carry a hint (cli.HintOf).
type Client struct {
	socket string
	http   *http.Client
	warn   io.Writer // where warnings go, see WarnTo

	patience time.Duration // longest wait for the answer to a question that is not Long
	watch    time.Duration // interval at which the client asks for the status of the daemon while another request runs, see watched
	most     int64         // most bytes of an answer
}

// Bounds of what a client accepts, because the process that listens at the socket may be a daemon
// that is stuck, or another program.
const (
	patience  = time.Minute // enough for every question that is not Long, even with 200 000 clients
	maxAnswer = 512 << 20   // several times the length of an answer that lists 200 000 clients
)

// NewClient returns a client of the daemon at a socket. It connects for each request.
func NewClient(socket string) *Client {
	return &Client{socket: socket, warn: io.Discard, patience: patience, watch: watchInterval, most: maxAnswer, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
		DisableKeepAlives:  true,
	}}}
}

// Events returns the daemon's events from now on, one JSON object per line. The
// caller closes the reader.
func (c *Client) Events(ctx context.Context) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, eventsPath, nil, nil)
}

// Capture returns the daemon's messages from now on as pcapng; if headersOnly is set, their
// payload is replaced by zeros. The caller closes the reader.
func (c *Client) Capture(ctx context.Context) (in io.ReadCloser, headersOnly bool, err error) {
	answer, err := c.open(ctx, http.MethodGet, capturePath, nil, nil)
	if err != nil {
		return nil, false, err
	}
	return answer.Body, answer.Header.Get(headersOnlyHeader) != "", nil
}

// Answer returns the answer to a question as it comes, in JSON. The path includes the parameters of the
// question. The caller closes the reader.
func (c *Client) Answer(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, path, nil, nil)
}

// call sends a request, followed by data, and decodes the answer.
func (c *Client) call(ctx context.Context, method, path string, request any, data io.Reader, answer any) error {
	body, err := c.do(ctx, method, path, request, data)
	return c.decode(ctx, body, err, answer)
}

// act is like call, for a command whose answer is not needed.
func (c *Client) act(ctx context.Context, path string, request any, data io.Reader) error {
	body, err := c.do(ctx, http.MethodPost, path, request, data)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	if err = errors.Join(err, body.Close()); err != nil {
		return c.explain(ctx, fmt.Errorf("answer of the daemon: %w", err))
	}
	return nil
}

// decode decodes an answer. If err is not nil, there is no answer, and decode returns err with a
// hint.
func (c *Client) decode(ctx context.Context, body io.ReadCloser, err error, answer any) error {
	if err != nil {
		return err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, c.most+1))
	if err == nil && int64(len(raw)) > c.most {
		err = fmt.Errorf("more than %d bytes", c.most)
	}
	if err == nil {
		err = c.decodeAnswer(raw, answer)
	}
	if err != nil {
		return c.explain(ctx, fmt.Errorf("answer of the daemon: %w", err))
	}
	return nil
}

// ask sends a question that reads state, and decodes the answer. A daemon that is stuck or stopped is
// an error after a while: programs that watch it must not hang as well.
func (c *Client) ask(ctx context.Context, path string, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, c.silent())
	defer cancel()
	return c.call(ctx, http.MethodGet, path, nil, nil, answer)
}

// do sends a request and returns the body of an answer with status 200.
func (c *Client) do(ctx context.Context, method, path string, request any, data io.Reader) (io.ReadCloser, error) {
	answer, err := c.open(ctx, method, path, request, data)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// open sends a request and returns an answer with status 200.
func (c *Client) open(ctx context.Context, method, path string, request any, data io.Reader) (*http.Response, error) {
	body, err := requestBody(request, data)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://lnetd"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	var failure errorBody
	err = json.NewDecoder(io.LimitReader(answer.Body, maxRequest)).Decode(&failure)
	if err != nil || failure.Error == nil {
		return nil, c.explain(ctx, fmt.Errorf("answer of the daemon: %s", answer.Status))
	}
	return nil, c.explain(ctx, failure.Error)
}

// requestBody returns a line with the JSON object, followed by the data; nil if there is
// no request.
func requestBody(request any, data io.Reader) (io.Reader, error) {
	if request == nil {
		return nil, nil
	}
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	if data == nil {
		return bytes.NewReader(line), nil
	}
	return io.MultiReader(bytes.NewReader(line), data), nil
}

// explain adds a hint to an error.
func (c *Client) explain(ctx context.Context, err error) error {
	failure, fromDaemon := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case fromDaemon && failure.Hint != "":
		return cli.Hint(err, "%s", failure.Hint)
	case fromDaemon || cli.HintOf(err) != "":
		return err
	case len(c.socket) > maxSocketPath:
		return cli.Hint(fmt.Errorf("control socket %s: path longer than %d bytes", c.socket, maxSocketPath), "see --socket")
	case errors.Is(err, os.ErrPermission):
		return cli.Hint(fmt.Errorf("control socket %s: %w", c.socket, syscall.EACCES),
			"members of the socket's group may look, its owner and root may do everything; see --socket")
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return cli.Hint(fmt.Errorf("no daemon at %s", c.socket), "is lnetd running? see --socket")
	}
	return cli.Hint(err, "is lnetd still running? see its log, and --socket")
}
