from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.storage.vault import INSTALL, OwnedSecrets, Vault, agent_namespace, vault_in
from ferrule.testing.contracts.secrets import SecretStoreContract
from ferrule.testing.stores import RamSecrets


class TestVault(SecretStoreContract):
    @pytest.fixture
    def vault(self, tmp_path: Path) -> Vault:
        return vault_in(tmp_path / "vault", {})

    @pytest.fixture
    def store(self, vault: Vault) -> OwnedSecrets:
        return OwnedSecrets(vault, INSTALL)

    @pytest.fixture
    def other(self, vault: Vault) -> OwnedSecrets:
        return OwnedSecrets(vault, agent_namespace("install"))


class TestRam(SecretStoreContract):
    @pytest.fixture
    def store(self) -> RamSecrets:
        return RamSecrets()

    @pytest.fixture
    def other(self) -> RamSecrets:
        return RamSecrets()
