"""Refused records keep who sent them; the worker may forget ended sessions, links and attempts.

phase: pre = runs before the new program starts, the old one still works on it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None
phase = "pre"

FORGET = """
create function forget_sign_ins(moment timestamptz) returns table (what text, n bigint)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before timestamptz := least(moment, now()) - interval '30 days';
begin
    delete from session where revoked_at < before or expires_at < before
        or seen_at < before - interval '2 hours';
    get diagnostics n = row_count;
    what := 'session';
    return next;
    delete from one_time_link where used_at < before or expires_at < before;
    get diagnostics n = row_count;
    what := 'one_time_link';
    return next;
    delete from login_attempt where at <= least(moment, now()) - interval '15 minutes';
    get diagnostics n = row_count;
    what := 'login_attempt';
    return next;
end $$
"""
"""With the owner's rights: the worker reads no table of access, and ends nothing that holds."""


def upgrade() -> None:
    op.add_column("rejection", sa.Column("sent_with", sa.Text(), nullable=True))
    op.add_column("rejection", sa.Column("producer", sa.Text(), nullable=True))
    op.execute(FORGET)
    op.execute("revoke all on function forget_sign_ins(timestamptz) from public")
    op.execute("grant execute on function forget_sign_ins(timestamptz) to inferwatch_worker")
