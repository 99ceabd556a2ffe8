package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"github.com/juju/errors"
)

// prepared is a connection whose statements are prepared once: parsing one takes
// SQLite as long as carrying it out. It is for one goroutine at a time.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (p *prepared) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := p.stmts[query]; ok {
		return s, nil
	}
	s, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if p.stmts == nil {
		p.stmts = map[string]*sql.Stmt{}
	}
	p.stmts[query] = s
	return s, nil
}

// run executes a statement that takes part in beginning or ending a
// transaction: never given up half-way because a caller has gone.
func (p *prepared) run(query string) error {
	s, err := p.prepare(context.Background(), query)
	if err != nil {
		return errors.Trace(err)
	}
	_, err = s.ExecContext(context.Background())
	return errors.Trace(err)
}

// QueryRowContext is part of querier.
func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := p.prepare(ctx, query)
	if err != nil {
		// The row then carries the error that preparing gave.
		return p.conn.QueryRowContext(ctx, query, args...)
	}
	return s.QueryRowContext(ctx, args...)
}

// QueryContext is part of querier.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := p.prepare(ctx, query)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return s.QueryContext(ctx, args...)
}

// Close closes the connection.
func (p *prepared) Close() {
	for _, s := range p.stmts {
		s.Close()
	}
	if p.conn != nil {
		p.conn.Close()
	}
}

// readers are the connections that read. They are safe for use by many
// goroutines.
type readers struct {
	db *sql.DB

	mu     sync.Mutex
	closed bool
	idle   []*prepared // those that nobody uses
}

// maxIdle is how many connections that read are kept for the next reader.
const maxIdle = 4

func openReaders(path string) (*readers, error) {
	db, err := sql.Open("sqlite", dsn(path, "query_only(1)"))
	if err != nil {
		return nil, errors.Trace(err)
	}
	// Many more than are kept, as a View may well be within another's function.
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(0)
	return &readers{db: db}, nil
}

// begin begins to read. Once end has returned the connection is free again, and
// Close closes it.
func (r *readers) begin(ctx context.Context) (_ *prepared, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, errors.Trace(err)
	}
	p := r.take()
	if p == nil {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return nil, nil, errors.Trace(err)
		}
		p = &prepared{conn: conn}
	}
	if err := p.run("BEGIN"); err != nil {
		p.Close()
		return nil, nil, errors.Trace(err)
	}
	return p, func() {
		if err := p.run("ROLLBACK"); err != nil || !r.keep(p) {
			p.Close()
		}
	}, nil
}

// take is a connection that nobody uses; nil: there is none.
func (r *readers) take() *prepared {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.idle)
	if n == 0 {
		return nil
	}
	p := r.idle[n-1]
	r.idle = r.idle[:n-1]
	return p
}

// keep keeps a connection for the next reader, if there aren't enough.
func (r *readers) keep(p *prepared) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) == maxIdle {
		return false
	}
	r.idle = append(r.idle, p)
	return true
}

// Close closes all. What has begun to read has ended.
func (r *readers) Close() error {
	r.mu.Lock()
	r.closed = true
	for _, p := range r.idle {
		p.Close()
	}
	r.mu.Unlock()
	return errors.Trace(r.db.Close())
}
