package control

import (
	"net/http"

	"ulnet/cmd/internal/node"
)

func (s *Server) sink(w http.ResponseWriter, r *http.Request) error {
	var req node.SinkRequest
	data, err := request(w, r, &req)
	if err == nil {
		err = end(data)
	}
	if err != nil {
		return err
	}
	f := s.frames(w)
	f.finish(s.cfg.Node.Sink(r.Context(), req, f.report))
	return nil
}

func (s *Server) put(w http.ResponseWriter, r *http.Request) error {
	var req node.PutRequest
	data, err := request(w, r, &req)
	if err != nil {
		return err
	}
	f := s.frames(w)
	f.finish(s.cfg.Node.Put(r.Context(), req, data, f.report))
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	var req node.ServeRequest
	data, err := request(w, r, &req)
	if err != nil {
		return err
	}
	f := s.frames(w)
	f.finish(s.cfg.Node.Serve(r.Context(), req, data, f.report))
	return nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	var req node.GetRequest
	data, err := request(w, r, &req)
	if err == nil {
		err = end(data)
	}
	if err != nil {
		return err
	}
	f := s.frames(w)
	f.finish(s.cfg.Node.Get(r.Context(), req, f.report))
	return nil
}
