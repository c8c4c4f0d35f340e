"""The verbs of operators as a class of their own; each calls the method of `Memory`.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from annotated_types import Ge, Le
from pydantic import JsonValue

from pgmem.engines.verbs import Verbs
from pgmem.models import (
    Adoption,
    ApiToken,
    Backlog,
    CardDecision,
    CardVacuum,
    CheckedLabel,
    Decay,
    DedupDue,
    EditedMemory,
    EmbeddingModel,
    Erasure,
    Expiry,
    GraphCounts,
    Repair,
    SaveResult,
    Setting,
    Sweep,
    Tenant,
    TenantRole,
)

__all__ = ["Admin"]

Confidence = Annotated[float, Ge(0), Le(1)]
DetailLevel = Literal["compact", "full", "summary", "normal"]
Fusion = Literal["linear", "rrf"]
Hops = Annotated[int, Ge(1), Le(5)]
InsightAction = Literal["approve", "dismiss"]
MaxRecords = Annotated[int, Ge(1), Le(100)]
MaxResults = Annotated[int, Ge(1), Le(100)]
MinRelevance = Annotated[float, Ge(0), Le(1)]
Relevance = Annotated[float, Ge(0), Le(1)]
ReviewOutcome = Literal["new", "supersede", "drop"]
RowLimit = Annotated[int, Ge(1), Le(1000)]
ScopeName = Literal["global", "project", "focus"]
Sharing = Literal["private", "org"]
TokenLimit = Annotated[int, Ge(100), Le(1000000)]


class Admin:
    """The verbs of operators over a memory: `memory.admin`."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    async def set_setting(self, name: str, value: str) -> Setting:
        """Change a threshold or limit for every caller; the owner's right alone.

        Args:
            name: The name of the setting, as list_settings shows it.
            value: The new value, as a text.

        Raises:
            InvalidArgument: There is no such setting, or the value does not fit; the message says what the
                setting means.
        """
        return await self._verbs.set_setting(name=name, value=value)

    async def dedup_due(self) -> DedupDue:
        """Say whether the order of title words is due for refresh_dedup.

        It is due once the titles have doubled since the last snapshot, and by at least 1 000. by_worker:
        there are at most dedup_refresh_limit titles, so the worker refreshes; saves wait for it.
        """
        return await self._verbs.dedup_due()

    async def refresh_dedup(self, if_worth: bool = False) -> int:
        """Rebuild the index of title words by a new snapshot of their frequency; the number of its rows.

        Saves wait for it: up to dedup_refresh_limit titles the worker calls it, beyond that a person does
        at a quiet hour.

        Args:
            if_worth: Only where dedup_due says that it is due and the worker's to do, else 0; false by
                default, for reviewers alone.

        Raises:
            NotPermitted: The login is no reviewer, and if_worth is false.
        """
        return await self._verbs.refresh_dedup(if_worth=if_worth)

    async def resolve_review(
        self, save_id: UUID, outcome: ReviewOutcome, by: str, candidate_id: UUID | None = None
    ) -> SaveResult:
        """Decide a save under review: store it as new, let it supersede its candidate, or drop it.

        Any open save can be dropped, also one that is not under review. A decision that was made on another
        candidate than the present one is refused.

        For a person, not for an agent: the login must own the schema or be a member of pgmem_reviewer.

        Args:
            save_id: The save under review, as list_reviews gives it.
            outcome: new (store it beside the candidate), supersede (replace the candidate) or drop (store
                nothing).
            by: The name of the person who decides.
            candidate_id: The candidate that the person was shown; unset: the one of the refusal, for
                supersede.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            MemoryNotFound: no such save is under review.
            InvalidArgument: the outcome is unknown, `by` is empty, or the candidate has changed since it
                was shown.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self._verbs.resolve_review(
            save_id=save_id, outcome=outcome, by=by, candidate_id=candidate_id
        )

    async def forget_by_ttl(
        self,
        days: int,
        label: str | None = None,
        project_id: str | None = None,
        purge: bool = False,
        dry_run: bool = False,
        limit: int = 1000,
        progress: Callable[[int, int], None] | None = None,
    ) -> Expiry:
        """Forget, or purge, the memories that have not changed for some days, batch by batch.

        Without an identity all tenants are meant, else the caller's tenant and what its organisation
        shares.

        Args:
            days: Forget what has not changed for this many days, 0 or more.
            label: Only this kind of memory; unset: all kinds.
            project_id: Only this project; unset: all.
            purge: True: delete for good, and also what is hidden already; false: hide.
            dry_run: Only report what it would do.
            limit: How many memories a batch holds, 1 to 5000.
            progress: Called after each batch with how many are done and how many remain.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            InvalidArgument: days, limit or label are not valid.
            MemoryNotFound: the project does not exist.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self._verbs.forget_by_ttl(
            days=days,
            label=label,
            project_id=project_id,
            purge=purge,
            dry_run=dry_run,
            limit=limit,
            progress=progress,
        )

    async def decay_scores(
        self,
        max_age_days: int | None = None,
        decay_rate: float | None = None,
        archive_below: float | None = None,
        dry_run: bool = False,
        limit: int = 2000,
        progress: Callable[[int, int], None] | None = None,
    ) -> Decay:
        """Count the memories whose confidence has decayed; archive those below a threshold.

        A rate or an age that is sent holds for this call alone: reads compute confidence by the settings
        decay_rate and decay_max_age_days, which set_setting changes. Without an identity all tenants are
        meant, else the caller's tenant and what its organisation shares. A call archives one batch and
        returns how many remain; the method in Python goes on until none does.

        Args:
            max_age_days: Days without a change before confidence decays; unset: the setting
                decay_max_age_days.
            decay_rate: The rate of the decay by day, 0 or more; unset: the setting decay_rate.
            archive_below: Archive what has less confidence than this, 0 to 1; unset or 0: archive nothing.
            dry_run: Only report what it would do.
            limit: How many memories a batch archives at most, 1 to 5000.
            progress: Called after each batch with how many are done and how many remain.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            InvalidArgument: a number is out of bounds.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self._verbs.decay_scores(
            max_age_days=max_age_days,
            decay_rate=decay_rate,
            archive_below=archive_below,
            dry_run=dry_run,
            limit=limit,
            progress=progress,
        )

    async def issue_token(
        self,
        org_id: str = "",
        user_id: str = "",
        name: str | None = None,
        expires_at: datetime | None = None,
        for_person: bool = False,
    ) -> ApiToken:
        """Issue a bearer token bound to a tenant; only this answer holds the token.

        In a store with one user, a token without org_id and user_id acts for that user, and the store stays
        one without tenants.

        Args:
            org_id: The organisation the token acts for; empty: none.
            user_id: The user the token acts for; empty: the organisation as a whole.
            name: A name for the token in list_tokens; unset: the names of the tenant.
            expires_at: When the token ends; unset: never.
            for_person: Whether a person signs in to the page with it and decides there; such a token lets
                no agent in.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            InvalidArgument: no tenant is named in a store that has tenants, a name cannot be taken, or
                expires_at lies in the past.
        """
        return await self._verbs.issue_token(
            org_id=org_id, user_id=user_id, name=name, expires_at=expires_at, for_person=for_person
        )

    async def revoke_token(self, token_id: UUID) -> ApiToken:
        """Revoke a bearer token at once; the row stays for list_tokens.

        Args:
            token_id: The id of the token, as list_tokens gives it.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            MemoryNotFound: there is no such token.
        """
        return await self._verbs.revoke_token(token_id=token_id)

    async def list_tokens(self) -> list[ApiToken]:
        """List the bearer tokens that were issued, oldest first, without their secrets.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self._verbs.list_tokens()

    async def bind_role(self, role: str, org_id: str = "", user_id: str = "") -> TenantRole:
        """Bind a database login to a tenant, whatever it sets; with neither name the binding ends.

        A bound login gets limits from the settings role_*: statement_timeout,
        idle_in_transaction_session_timeout and temp_file_limit in this database, and a number of
        connections. `unlimited` names those that the caller may not set; a superuser, or the role's
        administrator, sets them.

        Args:
            role: The name of the login.
            org_id: The organisation of the tenant; empty: none.
            user_id: The user of the tenant; empty: the organisation as a whole.

        Raises:
            MemoryNotFound: the server has no such role.
            InvalidArgument: the login owns the store, or a name cannot be taken.
        """
        return await self._verbs.bind_role(role=role, org_id=org_id, user_id=user_id)

    async def list_tenants(self) -> list[Tenant]:
        """List the tenants with their memories and projects, and the tokens and logins bound to them.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
        """
        return await self._verbs.list_tenants()

    async def adopt(
        self, org_id: str, user_id: str = "", dry_run: bool = False, back: bool = False
    ) -> Adoption:
        """Give all rows that belong to no tenant to one tenant, in one transaction.

        For a store that gets its first tenant. Writers wait until it is done. With back the rows of the
        tenant belong to no tenant any more, which is the way back to a store with one user.

        Args:
            org_id: The organisation of the tenant; empty: none.
            user_id: The user of the tenant; empty: the organisation as a whole.
            dry_run: Only report what it would do.
            back: The other way: from the tenant to no tenant.

        Raises:
            InvalidArgument: no tenant is named, some of the names or contents are there already, or the way
                back is asked for while a token or a login is bound to a tenant.
        """
        return await self._verbs.adopt(org_id=org_id, user_id=user_id, dry_run=dry_run, back=back)

    async def erase_subject(
        self, org_id: str, user_id: str = "", dry_run: bool = True, by: str | None = None
    ) -> Erasure:
        """Remove a user, or an organisation with its users, from every table and from the graph.

        In Python the saves of the subject in the outbox of this machine are removed too. `counts` has the
        number of rows by table. Where nothing was stored there is no receipt: receipt_id is null.

        Args:
            org_id: The organisation to remove; empty: a user without an organisation.
            user_id: The user to remove; empty: the organisation with all its users.
            dry_run: True (the default): only count; false: remove.
            by: The name of the person who erases; required unless dry_run.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            InvalidArgument: no subject is named, `by` is empty, or a user is named without the organisation
                it belongs to.
        """
        return await self._verbs.erase_subject(org_id=org_id, user_id=user_id, dry_run=dry_run, by=by)

    async def activate_model(self, name: str) -> None:
        """Let search use this model from the next query on; memories without a vector of it are queued."""
        await self._verbs.activate_model(name=name)

    async def drop_model(self, name: str) -> int:
        """Delete a model that is not active and its vectors; how many."""
        return await self._verbs.drop_model(name=name)

    async def embedding_status(self) -> list[EmbeddingModel]:
        """The models of this store, their vectors, and how many texts wait for one."""
        return await self._verbs.embedding_status()

    async def supersede(
        self, old: str, new: str, project_id: str | None = None, by: str | None = None
    ) -> Repair:
        """Let one decision supersede another; `revert` brings the old one back.

        Args:
            old: The decision that is superseded, by id or exact title.
            new: The decision that supersedes it, by id or exact title.
            project_id: Project name.
            by: The name of the person who decides.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or a decision is not the caller's.
            MemoryNotFound: no such decision or project is visible here.
            AmbiguousName: a title fits several decisions.
            InvalidArgument: one of the decisions is not live.
            RelationNotAllowed: they are one, the new one is private and the old one shared, or they would
                form a circle.
        """
        return await self._verbs.supersede(old=old, new=new, project_id=project_id, by=by)

    async def merge_entities(
        self,
        entity: str,
        into: str,
        project_id: str | None = None,
        fact: str | None = None,
        by: str | None = None,
    ) -> Repair:
        """Merge one entity into another; `revert` brings it back.

        The facts of the first stay in its history.

        Args:
            entity: The entity that is merged, by id or name.
            into: The entity that stays, by id or name.
            project_id: Project name.
            fact: The fact of the merged entity; unset: the fact of `into` stays.
            by: The name of the person who decides.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or an entity is not the caller's.
            MemoryNotFound: no such entity or project is visible here.
            AmbiguousName: a name fits several entities.
            InvalidArgument: one of the entities is not live.
            RelationNotAllowed: they are one, of two projects, or the second is private and the first
                shared.
        """
        return await self._verbs.merge_entities(
            entity=entity, into=into, project_id=project_id, fact=fact, by=by
        )

    async def edit_memory(
        self, id: UUID, version: int, properties: Mapping[str, Any], by: str, title: str | None = None
    ) -> EditedMemory:
        """Correct a live memory in place, as a person: a new version with the person's trust.

        The earlier version stays in its history. A text stays a text and a list of texts a list; a memory
        that is named keeps its name.

        Args:
            id: The id of the memory.
            version: The version that the person was shown; another one since is refused.
            properties: The texts that change, an object; the others stay.
            by: The name of the person who decides.
            title: The title, of a memory whose title is no property, such as a decision; unset: as it is.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the memory belongs to all tenants.
            MemoryNotFound: no such memory is visible to the caller.
            InvalidArgument: it has changed since it was shown, it is not live, a property is unknown or has
                another form, or the same content is live under another id.
            RelationNotAllowed: the memory is a card.
            IdentityRequired: the store has tenants and the caller has no identity.
            WrongIsolation: the transaction is not READ COMMITTED.
        """
        return await self._verbs.edit_memory(
            id=id, version=version, properties=properties, by=by, title=title
        )

    async def approve_card(
        self, card_id: UUID, by: str, reason: str | None = None, supersedes: Sequence[UUID] = ()
    ) -> CardDecision:
        """Approve a draft or stale card: it becomes active and verified.

        A person calls this. Approving a stale card anchors it in its files as the last run saw them.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, for the revision of the card; default none.
            supersedes: Ids of active or stale cards of the same project that this one replaces; default
                none.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card, or one that it supersedes, is in another status.
            InvalidArgument: by is empty.
        """
        return await self._verbs.approve_card(card_id=card_id, by=by, reason=reason, supersedes=supersedes)

    async def reject_card(self, card_id: UUID, by: str, reason: str | None = None) -> CardDecision:
        """Reject a draft card.

        A person calls this. The same card may be drafted again; the answer then names the rejected one.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, kept with the card; default none.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card is no draft.
            InvalidArgument: by is empty.
        """
        return await self._verbs.reject_card(card_id=card_id, by=by, reason=reason)

    async def archive_card(self, card_id: UUID, by: str, reason: str | None = None) -> CardDecision:
        """Take an active, stale, historical or superseded card out of use.

        A person calls this. A later report does not bring the card back.

        Args:
            card_id: The id of the card.
            by: The name of the person who decides.
            reason: Why, for the revision of the card; default none.

        Raises:
            NotPermitted: the login is neither owner nor reviewer, or the card belongs to another tenant.
            MemoryNotFound: no such card is visible here.
            ContractError: the card is in another status.
            InvalidArgument: by is empty.
        """
        return await self._verbs.archive_card(card_id=card_id, by=by, reason=reason)

    async def vacuum_cards(self, project_id: str, dry_run: bool = False, limit: int = 500) -> CardVacuum:
        """Remove a batch of the cards whose days in their state are over.

        A person calls this, again while `remaining` is above 0. `removed` counts cards by status,
        `receipts` counts finished intents that are older than `card_days_receipt`; records of runs go with
        those, except the last one.

        Args:
            project_id: Project name.
            dry_run: Only report what it would do.
            limit: How many cards at most, 1 to 10000; default 500.

        Raises:
            NotPermitted: the login is neither owner nor reviewer.
            ContractError: no such project.
            InvalidArgument: limit is out of range.
        """
        return await self._verbs.vacuum_cards(project_id=project_id, dry_run=dry_run, limit=limit)

    async def backlog(self) -> Backlog:
        """The pending work of the whole store in numbers: texts to embed and saves that are open.

        Raises:
            NotPermitted: the login is neither owner, nor reviewer, nor a member of pgmem_trusted.
        """
        return await self._verbs.backlog()

    async def sweep(self, limit: int = 2000) -> Sweep:
        """Do one batch of what is due once an hour; remaining is above 0 while more is left.

        Records of finished saves are deleted after save_attempt_days; the arguments of other saves and the
        previews of approvals are removed after save_arguments_days; captured turns are deleted after
        turn_days. Memories below decay_archive_below are archived, if that setting is above 0 and the login
        is the owner or a reviewer. A call while another worker sweeps does nothing.

        Args:
            limit: How many records and memories at most, 1 to 5000.

        Raises:
            InvalidArgument: the limit is not between 1 and 5000.
        """
        return await self._verbs.sweep(limit=limit)

    async def rebuild_graph(self) -> GraphCounts:
        """Make the graph again from the tables; returns the numbers of vertices and edges written.

        No save is possible while it runs.

        Raises:
            TierMissing: the server has no Apache AGE.
        """
        return await self._verbs.rebuild_graph()

    async def check_graph(self) -> list[CheckedLabel]:
        """Where the graph differs from the tables; empty when they agree.

        Each row counts, for a label or relation, what the graph lacks (missing), has beyond the tables
        (extra), and holds with other properties or ends (different).

        Raises:
            TierMissing: the server has no Apache AGE.
        """
        return await self._verbs.check_graph()

    async def run_cypher(
        self, query: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, JsonValue]]:
        """Run a read-only Cypher query over the graph; one JSON object a row.

        Args:
            query: A Cypher query that ends in RETURN; its columns name the keys of the objects.
            params: An object of values that the query names as $name.

        Raises:
            TierMissing: the server has no Apache AGE, or the graph came from a dump and must be rebuilt.
            NotPermitted: the query writes, a tenant is set, or the login is neither owner nor reviewer.
            InvalidArgument: the query has no RETURN or cannot be run, or params is not an object.
        """
        return await self._verbs.run_cypher(query=query, params=params)
