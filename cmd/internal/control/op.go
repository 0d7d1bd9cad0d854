package control

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"reflect"
	"time"
)

// None is an empty request or answer.
type None struct{}

// A Route is an operation with the function that carries it out. Servers serve routes, and
// docs/control.md is generated from them.
type Route struct {
	Method, Path    string       // the package comment says which access each method needs
	Doc             string       // what the operation does, for docs/control.md
	Request, Answer reflect.Type // Answer is nil for a stream that has its own format
	Kind            Kind         // how the operation is answered
	Data            bool         // data follows the line of the request
	Report, Unasked string       // Question.Report and Question.Unasked; empty for others

	long    bool
	private bool // members of the socket's group may not send it, although it is a GET request
	do      func(*Server, http.ResponseWriter, *http.Request) error
}

// Kind is how an operation is answered.
type Kind string

// The kinds.
const (
	Asks    Kind = "question" // a GET request, answered by JSON
	Orders  Kind = "command"  // a POST request, answered by JSON
	Acts    Kind = "action"   // a POST request, answered by success or an error
	Steps   Kind = "steps"    // a POST request, answered by frames
	Streams Kind = "stream"   // a GET request, answered by a stream without end
)

// A Question reads state of the daemon. The fields of its request are the parameters of the
// query, see queryField.
type Question[Req, Answer any] struct {
	Path string // path of the question, which may have fields of the request as "{name}"
	Doc  string // what the question reads, for docs/control.md
	Long bool   // the question takes long, so the number of such requests that run at a time is bounded

	// What "lnetctl bugreport" does with the question. If the question has no parameters, a report asks it unless
	// Unasked is set. If it has some, one of the two is set.
	Report  string // query with which a report asks, such as "?limit=1000"; "?": without any parameter
	Unasked string // why a report does not ask
}

// A Command makes the daemon do something and returns the result.
type Command[Req, Answer any] struct {
	Path string // path without parameters
	Doc  string // what the command does, for docs/control.md
	Long bool   // the command may take long, so the number of such requests that run at a time is bounded
	most int    // see Most of an Action
}

// An Action makes the daemon do something that has no result but an error.
type Action[Req any] struct {
	Path string // path without parameters
	Doc  string // what the action does, for docs/control.md
	Most int    // most bytes of a request, without the data after it; 0: 64 KiB
}

// An Operation makes the daemon do something and reports it step by step, until it is done
// or the client closes the connection.
type Operation[Req any, S Step[S]] struct {
	Path string // path without parameters
	Doc  string // what the operation does, for docs/control.md
}

// A Step is a report of an operation. It is sent over the socket as JSON, followed by its
// payload.
type Step[S any] interface {
	Attached() []byte        // returns the payload that follows the JSON
	Attach(payload []byte) S // returns the report with this payload
}

// Do returns a route for the operation, which the function do carries out. The other kinds of
// operations have this method as well, and the method DoWith for requests that data follows.
func (o Question[Req, Answer]) Do(do func(context.Context, Req) (Answer, error)) Route {
	r := route[Req, Answer](http.MethodGet, o.Path, o.Doc, Asks)
	r.long, r.Report, r.Unasked = o.Long, o.Report, o.Unasked
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		if err := queryOf(hr, &req); err != nil {
			return err
		}
		// The whole request has been read. Without a read deadline, an answer may take longer than a request:
		// if the deadline passed before the answer, the server would think that the connection has ended, and
		// cancel the context.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		answer, err := do(hr.Context(), req)
		return s.answer(w, answer, err)
	}
	return r
}

// Do returns a route for the operation, which the function do carries out.
func (o Command[Req, Answer]) Do(do func(context.Context, Req) (Answer, error)) Route {
	return o.route(false, func(ctx context.Context, req Req, data io.Reader) (answer Answer, err error) {
		if err = end(data); err == nil {
			answer, err = do(ctx, req)
		}
		return answer, err
	})
}

// DoWith is Do for a command whose request is followed by data. The function do reads the data.
func (o Command[Req, Answer]) DoWith(do func(context.Context, Req, io.Reader) (Answer, error)) Route {
	return o.route(true, do)
}

func (o Command[Req, Answer]) route(data bool, do func(context.Context, Req, io.Reader) (Answer, error)) Route {
	r := route[Req, Answer](http.MethodPost, o.Path, o.Doc, Orders)
	r.Data, r.long = data, o.Long
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		body, err := request(w, hr, cmp.Or(o.most, maxRequest), &req)
		if err != nil {
			return err
		}
		answer, err := do(hr.Context(), req, body)
		return s.answer(w, answer, err)
	}
	return r
}

// Do returns a route for the operation, which the function do carries out.
func (o Action[Req]) Do(do func(context.Context, Req) error) Route {
	return o.command().Do(func(ctx context.Context, req Req) (Req, error) { return req, do(ctx, req) }).of(Acts)
}

// DoWith is Do for an action whose request is followed by data. The function do reads the data.
func (o Action[Req]) DoWith(do func(context.Context, Req, io.Reader) error) Route {
	return o.command().DoWith(func(ctx context.Context, req Req, data io.Reader) (Req, error) {
		return req, do(ctx, req, data)
	}).of(Acts)
}

func (o Action[Req]) command() Command[Req, Req] {
	return Command[Req, Req]{Path: o.Path, Doc: o.Doc, most: o.Most}
}

func (r Route) of(kind Kind) Route {
	r.Kind = kind
	return r
}

// Do returns a route for the operation, which the function do carries out.
func (o Operation[Req, S]) Do(do func(context.Context, Req, func(S) error) error) Route {
	return o.route(false, func(ctx context.Context, req Req, _ io.Reader, report func(S) error) error {
		return do(ctx, req, report)
	})
}

// DoWith is Do for an operation whose request is followed by data. The function do reads the
// data.
func (o Operation[Req, S]) DoWith(do func(context.Context, Req, io.Reader, func(S) error) error) Route {
	return o.route(true, do)
}

func (o Operation[Req, S]) route(data bool, do func(context.Context, Req, io.Reader, func(S) error) error) Route {
	r := route[Req, S](http.MethodPost, o.Path, o.Doc, Steps)
	r.Data, r.long = data, true
	r.do = func(s *Server, w http.ResponseWriter, hr *http.Request) error {
		var req Req
		body, err := request(w, hr, maxRequest, &req)
		if err == nil && !data {
			err = end(body)
		}
		if err != nil {
			return err
		}
		f := s.frames(w)
		f.finish(do(hr.Context(), req, body, func(step S) error { return f.report(step, step.Attached()) }))
		return nil
	}
	return r
}

func route[Req, Answer any](method, path, doc string, kind Kind) Route {
	return Route{Method: method, Path: path, Doc: doc, Request: reflect.TypeFor[Req](), Answer: reflect.TypeFor[Answer](), Kind: kind}
}

// Call sends the question to the daemon that the client connects to. If a question that is not Long has no
// answer within a minute, Call returns an error. A Long question, or a request of another kind, may take as
// long as it needs; meanwhile the client asks for the status of the daemon now and then, and if the daemon
// does not answer that within a minute, the request ends with an error.
func (o Question[Req, Answer]) Call(ctx context.Context, c *Client, req Req) (answer Answer, err error) {
	path := encodeQuery(o.Path, req)
	if o.Long {
		ctx, stop := c.watched(ctx)
		defer stop()
		err = c.call(ctx, http.MethodGet, path, nil, nil, &answer)
	} else {
		err = c.ask(ctx, path, &answer)
	}
	return answer, err
}

// Call sends the command to the daemon that the client connects to.
func (o Command[Req, Answer]) Call(ctx context.Context, c *Client, req Req) (Answer, error) {
	return o.CallWith(ctx, c, req, nil)
}

// CallWith is Call with data after the request. The reader data may be nil.
func (o Command[Req, Answer]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader) (answer Answer, err error) {
	ctx, stop := c.watched(ctx)
	defer stop()
	err = c.call(ctx, http.MethodPost, o.Path, req, data, &answer)
	return answer, err
}

// Call sends the action to the daemon that the client connects to.
func (o Action[Req]) Call(ctx context.Context, c *Client, req Req) error {
	return o.CallWith(ctx, c, req, nil)
}

// CallWith is Call with data after the request. The reader data may be nil.
func (o Action[Req]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader) error {
	ctx, stop := c.watched(ctx)
	defer stop()
	return c.act(ctx, o.Path, req, data)
}

// Call sends the operation to the daemon that the client connects to, and calls report with each
// step. The payload of a step is valid until report returns.
func (o Operation[Req, S]) Call(ctx context.Context, c *Client, req Req, report func(S) error) error {
	return o.CallWith(ctx, c, req, nil, report)
}

// CallWith is Call with data after the request. The reader data may be nil.
func (o Operation[Req, S]) CallWith(ctx context.Context, c *Client, req Req, data io.Reader, report func(S) error) error {
	ctx, stop := c.watched(ctx)
	defer stop() // ends the request, and with it the operation, if report has returned an error
	body, err := c.do(ctx, http.MethodPost, o.Path, req, data)
	if err != nil {
		return err
	}
	defer body.Close()
	return c.explain(ctx, readFrames(body, report))
}

// Ask adapts a function without context and request for Question.Do.
func Ask[Answer any](do func() (Answer, error)) func(context.Context, None) (Answer, error) {
	return func(context.Context, None) (Answer, error) { return do() }
}

// Told adapts a function without context, request and error for Question.Do.
func Told[Answer any](do func() Answer) func(context.Context, None) (Answer, error) {
	return func(context.Context, None) (Answer, error) { return do(), nil }
}

// Quick adapts a function without context for Question.Do and Command.Do.
func Quick[Req, Answer any](do func(Req) (Answer, error)) func(context.Context, Req) (Answer, error) {
	return func(_ context.Context, req Req) (Answer, error) { return do(req) }
}

// Act adapts a function without context for Action.Do.
func Act[Req any](do func(Req) error) func(context.Context, Req) error {
	return func(_ context.Context, req Req) error { return do(req) }
}

// Just adapts a function without context and request for Action.Do.
func Just(do func() error) func(context.Context, None) error {
	return func(context.Context, None) error { return do() }
}

// With adapts a function without context for Action.DoWith.
func With[Req any](do func(Req, io.Reader) error) func(context.Context, Req, io.Reader) error {
	return func(_ context.Context, req Req, data io.Reader) error { return do(req, data) }
}
