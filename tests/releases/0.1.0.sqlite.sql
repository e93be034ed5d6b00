-- What a store of 0.1.0 looks like: made by tests/releases/fixture.py, and never changed.
PRAGMA application_id = 1095190356;
PRAGMA user_version = 23;
BEGIN TRANSACTION;
CREATE TABLE approval_events (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    run_key TEXT NOT NULL,
    by TEXT NOT NULL,
    way TEXT NOT NULL,
    body TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL, key_id TEXT NOT NULL DEFAULT '', erased TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, thread, seq)
) WITHOUT ROWID;
INSERT INTO "approval_events" VALUES('',0,1,1795842568139,'keyed','','','','','','','{"key":"427d61b2cc43"}','','ccee6c0dec49a8734cced3b7addc58400e1afb83a90007db8329df96fc8c7692','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,2,1795842568699,'deputy_named','acmeben','','','','ben','http','{"absent":"ben","deputy":"dep_d89f96e17836cc40cbef38e086965824","person":"ben","roles":["finance"],"since":1795842568699,"to":"dan","until":1799539200000}','ccee6c0dec49a8734cced3b7addc58400e1afb83a90007db8329df96fc8c7692','b4abb77495ea89c190c6536ab4b681a4dbcdcba24ad410927be8f25859e73715','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,3,1795842568784,'frozen','','','','','olga','operator','{"agent":null,"encrypted_reason":"4eddae2be82da931.KOV6UZxh3Oe1s8lXuFl4y17MPcLuQtOldIM5EfRSOGyVptpPEegJOWYkdBNEFg==","tenant":null,"tool":"wire"}','b4abb77495ea89c190c6536ab4b681a4dbcdcba24ad410927be8f25859e73715','6fc22cccf1bdb252a0539f111053be81c0824ac5dcce75ca574d92506c131ce8','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685136485728327,1,1795842568251,'asked','acmeada','expired','apr_9feece7d745d96e34a8bfd51da08e973','run_38b4a81298ff1f61','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":1795842568252,"record":"482d4f254bf70e19817243b74ee5b4ebe77552fa387857176fb9c53b7e50bcbf","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','0d657661094eadde29a40d7a1537052f376c6ee20f135f87f6e67b05851e372b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685136485728327,2,1795842568263,'expired','acmeada','expired','apr_9feece7d745d96e34a8bfd51da08e973','','','','{"record":"22e9efd5964d59a830567f7344760ae6fefb0b87741a21198cdb943bfecce101"}','0d657661094eadde29a40d7a1537052f376c6ee20f135f87f6e67b05851e372b','58729f605013587762684d20db27883d7f23ad7734749f418a59a718a12b6803','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685136485728327,3,1795842568266,'shown','acmeada','expired','apr_9feece7d745d96e34a8bfd51da08e973','run_38b4a81298ff1f61','ada','interrupt','{}','58729f605013587762684d20db27883d7f23ad7734749f418a59a718a12b6803','69e07e431f644b679717dc7c4ef797d4a51b74b1c80293109c2e2a6d9557eb85','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137196649649,1,1795842568601,'asked','acmeada','done','apr_e518b08347275426168a4a28617074dc','run_354bbd47a71a3bbc','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"a03d71a4deb4fd66d6f6766187b8018c055b03dcb363870a6383b8771b7ed9ff","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','9c3a8b60712a289d57838ecda5b4db33791b85e29920d65e8c23a4842052a23e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137196649649,2,1795842568601,'shown','acmeada','done','apr_e518b08347275426168a4a28617074dc','run_354bbd47a71a3bbc','ada','interrupt','{"record":"a03d71a4deb4fd66d6f6766187b8018c055b03dcb363870a6383b8771b7ed9ff"}','9c3a8b60712a289d57838ecda5b4db33791b85e29920d65e8c23a4842052a23e','fd9f79e80b12c3ff0de713701c89cda70c41fdef7108ad238359cc582be4ee81','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137196649649,3,1795842568634,'approved','acmeada','done','apr_e518b08347275426168a4a28617074dc','decide_c7c2e64a216b8b1be9d694c85b6b547e','ben','http','{"address":"127.0.0.1","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","encrypted_reason":"5616a82c834be46f.mfWGulSui0EhJGmPRlkIuxUDH+tPxtOG3Ab0y806J8+tLpzwew==","person":"ben","record":"c7138b9a8b937aeb254ef1a20c2dc49794aa034ead3a00ccdf6fb84fd448c5e9"}','fd9f79e80b12c3ff0de713701c89cda70c41fdef7108ad238359cc582be4ee81','3e3f509c40f369f4d20075e75c023b9c2409a2d028613624fe88b911a7186204','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137196649649,4,1795842568634,'claimed','acmeada','done','apr_e518b08347275426168a4a28617074dc','decide_c7c2e64a216b8b1be9d694c85b6b547e','','','{"record":"c7138b9a8b937aeb254ef1a20c2dc49794aa034ead3a00ccdf6fb84fd448c5e9"}','3e3f509c40f369f4d20075e75c023b9c2409a2d028613624fe88b911a7186204','0b85540beb956538c7bf979dafa03806886108785d9c657bd0f4f77e658714c1','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137196649649,5,1795842568670,'done','acmeada','done','apr_e518b08347275426168a4a28617074dc','','','','{"output":"fed1ce9f9259663d94839735b4de9d70c4f38201af6a980d5e53cfecfae97466","record":"f9658517064f1a7ace8d2607f97f5cba8d3eef5759afe922d7ed17d37355a5cb"}','0b85540beb956538c7bf979dafa03806886108785d9c657bd0f4f77e658714c1','344efbe2c0e2f48cd520aecb943c76bd1d6a680a0f0a0f57fed00e9265aeb3a2','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137349153571,1,1795842568675,'asked','acmeada','rejected','apr_83c425d9933ad5efa629d138605f60ed','run_29f2995806f8dd10','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"89d30e6dbe2ed7b133e9c90bc35b742b0de11554fb3e7355644a0baa66ef8395","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','e62b2d91f4959a561cd21e3e83a6b38fb442c2179363059733967083458d95e9','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137349153571,2,1795842568675,'shown','acmeada','rejected','apr_83c425d9933ad5efa629d138605f60ed','run_29f2995806f8dd10','ada','interrupt','{"record":"89d30e6dbe2ed7b133e9c90bc35b742b0de11554fb3e7355644a0baa66ef8395"}','e62b2d91f4959a561cd21e3e83a6b38fb442c2179363059733967083458d95e9','09448fc65e1d2c4e408862996b5bc76a8e96b94a8c4beec2cd595a6c65ec7c47','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137349153571,3,1795842568678,'rejected','acmeada','rejected','apr_83c425d9933ad5efa629d138605f60ed','decide_6a35e5145b29ccd55183422e56127388','ben','http','{"address":"127.0.0.1","encrypted_reason":"5616a82c834be46f.UJowYdXqfqUprO2yC/qHjHiqG0WXGtaiV38r/oKMkt+zRJiN","output":"b95eede6e05c2788ccd7988f8d3e150b441a563641a2f8474a54caebd32e9800","person":"ben","record":"23b72aefc786e363e8c61d4a8b5b629a882f2b4b319e13a3170253c68a559c6e"}','09448fc65e1d2c4e408862996b5bc76a8e96b94a8c4beec2cd595a6c65ec7c47','6720b593ca941e5dfa9729ff5f7d54c9cc555c48878af692b57f85145c4836b4','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137361277732,1,1795842568681,'asked','acmeada','waits','apr_c8bbb8cc857c2990b78802295c8f0fe6','run_beed2b6fef6866c3','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"46acc7428c57360433c751fc02018436f169a3c714ab4948d736ae919d3a64e6","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','6c4508675517f885e6b2cb204b3f9cc1a8d2566e798dbe8e3183af61ded7ff2e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137361277732,2,1795842568681,'shown','acmeada','waits','apr_c8bbb8cc857c2990b78802295c8f0fe6','run_beed2b6fef6866c3','ada','interrupt','{"record":"46acc7428c57360433c751fc02018436f169a3c714ab4948d736ae919d3a64e6"}','6c4508675517f885e6b2cb204b3f9cc1a8d2566e798dbe8e3183af61ded7ff2e','138d87ce362c03023beae5dba58cb328c73b1c97051b6bdf390811a81e538de9','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137367151140,1,1795842568684,'asked','acmeada','handed on','apr_d3ad1c15fe0d42c57fc110fd6ed01686','run_b123fb6d91af3805','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"139b741c79ac967f3b638b02ddd09af7a2693a4cdd511f302007fddf7e5cf0ea","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','0177d9a1d8dc1385fe135f6fe0e2410232a8b329168107af59000d404a819f0f','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137367151140,2,1795842568684,'shown','acmeada','handed on','apr_d3ad1c15fe0d42c57fc110fd6ed01686','run_b123fb6d91af3805','ada','interrupt','{"record":"139b741c79ac967f3b638b02ddd09af7a2693a4cdd511f302007fddf7e5cf0ea"}','0177d9a1d8dc1385fe135f6fe0e2410232a8b329168107af59000d404a819f0f','6d659688b86bf17242970bde9fb23c64ceaedefcbc78026c55dfdf33886abf64','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137367151140,3,1795842568696,'handed_to','acmeada','handed on','apr_d3ad1c15fe0d42c57fc110fd6ed01686','','ben','http','{"record":"847cea49369376912b4a44166702c1ba1ca160a82d761fb52db57d1178c73c1a","to":["dan"]}','6d659688b86bf17242970bde9fb23c64ceaedefcbc78026c55dfdf33886abf64','e045b69ae1ac927ff20cff158f7002356ebfe07c2d86c5046759eb0334f69430','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137401156468,1,1795842568706,'asked','acmeada','claimed','apr_d8b367b894b88883eb83b1fb0fa5954b','run_31cd8542bdf5f627','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"87ae5fde2b447a387a76648559b9015a15a3cfa9c8266a52ae5ca5021e331f22","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','756cb15c7694121c1a5e53f3aa59cc115478beaacb5c044e63f34158227d68da','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137401156468,2,1795842568706,'shown','acmeada','claimed','apr_d8b367b894b88883eb83b1fb0fa5954b','run_31cd8542bdf5f627','ada','interrupt','{"record":"87ae5fde2b447a387a76648559b9015a15a3cfa9c8266a52ae5ca5021e331f22"}','756cb15c7694121c1a5e53f3aa59cc115478beaacb5c044e63f34158227d68da','86369d280cd4232f8095dd3713067613d492a5e6d377aa814cdcc0f5e17be7df','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137401156468,3,1795842568753,'approved','acmeada','claimed','apr_d8b367b894b88883eb83b1fb0fa5954b','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"42a753d1687f0e448b1960bad92ba0ad35289d4cd489b0163dce834a82f23b1e"}','86369d280cd4232f8095dd3713067613d492a5e6d377aa814cdcc0f5e17be7df','eb849ba036a4e5b1e384a59a25f26b48949ac816f1501127e09a03b27c9fb8d8','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137401156468,4,1795842568753,'claimed','acmeada','claimed','apr_d8b367b894b88883eb83b1fb0fa5954b','','','','{"record":"42a753d1687f0e448b1960bad92ba0ad35289d4cd489b0163dce834a82f23b1e"}','eb849ba036a4e5b1e384a59a25f26b48949ac816f1501127e09a03b27c9fb8d8','82959148218b143d4252673d1be92caed5ba73e8b5d2e2dee8af6a4645468b3b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137420451200,1,1795842568711,'asked','acmeada','failed','apr_b54e3c2417ec39fd5e4059e2447b84f6','run_0c33103079dde461','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"5e3c269bfb03c416c436f375353ae195660f504ad615ce3e8a458c9469a1a132","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','50eabb659639dbcb0ae8b6eb1d78df564ebfd46182774d2cab7e16d77fd53611','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137420451200,2,1795842568711,'shown','acmeada','failed','apr_b54e3c2417ec39fd5e4059e2447b84f6','run_0c33103079dde461','ada','interrupt','{"record":"5e3c269bfb03c416c436f375353ae195660f504ad615ce3e8a458c9469a1a132"}','50eabb659639dbcb0ae8b6eb1d78df564ebfd46182774d2cab7e16d77fd53611','2a7fb0af3cc168257c1c087e161fcb7e7d3c3b9b41070b0f5cf2271f72c2bf56','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137420451200,3,1795842568754,'approved','acmeada','failed','apr_b54e3c2417ec39fd5e4059e2447b84f6','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"f32e58a34df19974d7ef297a8c6596d7e480a1ffd4c545611c3919c9d9e5e6a3"}','2a7fb0af3cc168257c1c087e161fcb7e7d3c3b9b41070b0f5cf2271f72c2bf56','59b1a8c2cda2fc6e3a7051c4a47732d4624f75ac26ff0452999a9f7e2fc7ce5b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137420451200,4,1795842568754,'claimed','acmeada','failed','apr_b54e3c2417ec39fd5e4059e2447b84f6','','','','{"record":"f32e58a34df19974d7ef297a8c6596d7e480a1ffd4c545611c3919c9d9e5e6a3"}','59b1a8c2cda2fc6e3a7051c4a47732d4624f75ac26ff0452999a9f7e2fc7ce5b','049b52728d9e45fabc7aefbd0d6e82708db6d958e977ce4a21276c835372fc7e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137420451200,5,1795842568755,'failed','acmeada','failed','apr_b54e3c2417ec39fd5e4059e2447b84f6','','','','{"output":"bfa582b0f7cb9ee8554aa40999ecfa6dcf55394dcbfbba00d5d06ab4c1866561","record":"955dc1b717465b73edede2536ef487bb33b6bd4a60b99e8552e1ea952e8d3966"}','049b52728d9e45fabc7aefbd0d6e82708db6d958e977ce4a21276c835372fc7e','93729c32cea76ada35d83510ea333b1c1779d3f0524ebbc46c78879f2157b564','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137427664083,1,1795842568714,'asked','acmeada','unknown','apr_bb81db8aad8b35adb8d13ce69438726e','run_441c200d713b131a','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"c0a42641e764a104a0554c854e8381b9eef0732dee718c70c6a683ec384e4e6e","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','4764a243eaee0745b9c611e0dc6b72c01c5f90145b034b97ecc792d49c887d05','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137427664083,2,1795842568714,'shown','acmeada','unknown','apr_bb81db8aad8b35adb8d13ce69438726e','run_441c200d713b131a','ada','interrupt','{"record":"c0a42641e764a104a0554c854e8381b9eef0732dee718c70c6a683ec384e4e6e"}','4764a243eaee0745b9c611e0dc6b72c01c5f90145b034b97ecc792d49c887d05','78d9673096be68d9d5816e2cf0a8b756507fb1fe6f882c597f557fb2d26a3623','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137427664083,3,1795842568756,'approved','acmeada','unknown','apr_bb81db8aad8b35adb8d13ce69438726e','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"7cec700d0bab62f34ef8b782c789c3341056fa56f0d460383593e57aaecb7950"}','78d9673096be68d9d5816e2cf0a8b756507fb1fe6f882c597f557fb2d26a3623','204b9fdab344052b783b0adeace04f8f72b80630d8147bad5bc06193159e2493','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137427664083,4,1795842568756,'claimed','acmeada','unknown','apr_bb81db8aad8b35adb8d13ce69438726e','','','','{"record":"7cec700d0bab62f34ef8b782c789c3341056fa56f0d460383593e57aaecb7950"}','204b9fdab344052b783b0adeace04f8f72b80630d8147bad5bc06193159e2493','9796a0c7188bd9690abfc9a973d9ec1516c2e9615208194fcf55138a09f19384','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137427664083,5,1795842568757,'unknown','acmeada','unknown','apr_bb81db8aad8b35adb8d13ce69438726e','','','','{"output":"acdd720c83aebd3cedc7962b3bf994fbca8fd20493cf0fe54340ea4903676440","record":"3a5b93339e7bf938fec8520c96e0714517690ebc0c3961e2e62dabc3464d07db"}','9796a0c7188bd9690abfc9a973d9ec1516c2e9615208194fcf55138a09f19384','9977cdb9701b2e1d6b27333de2829436e0a4315c584a8084cdcbcc8f4c9fb12b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137431959589,1,1795842568717,'asked','acmeada','superseded','apr_79a332328562d85305be035789a726a3','run_7b410dd7a7657411','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"b828cfb8cd23133b7db8618b0b96678993e87f247afa9f56c9cbfed4e32f9712","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','1734e1f3dbdbc370e36afc50340634ca7af34d57c639f9a51a49479449202f8d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137431959589,2,1795842568717,'shown','acmeada','superseded','apr_79a332328562d85305be035789a726a3','run_7b410dd7a7657411','ada','interrupt','{"record":"b828cfb8cd23133b7db8618b0b96678993e87f247afa9f56c9cbfed4e32f9712"}','1734e1f3dbdbc370e36afc50340634ca7af34d57c639f9a51a49479449202f8d','68aba1041aee6a1cb1e71ebcf88648bd4f681e1f41f5beaad5d2590d2be522f9','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137431959589,3,1795842568758,'superseded','acmeada','superseded','apr_79a332328562d85305be035789a726a3','','','','{"record":"906b2f8c7d3e3e38739c0514301969959706384b7b5d6ff1b95e0a7fa4ca07b0"}','68aba1041aee6a1cb1e71ebcf88648bd4f681e1f41f5beaad5d2590d2be522f9','b9bbf7d76c7a2395c7b876f6b1e59b1553000e0d9ba196f4410a14027cde7f3c','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137438108239,1,1795842568722,'asked','acmeada','cancelled','apr_0d6f257dc36bf2b08a098b00c65204db','run_58d043d55666bc50','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"885971c3f6ff47cc3bb97b5755dcdfff4389049216285d75ff5a137a99072695","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','ce688e673fbde4004e47e7f262d1711369433d468d2df4ac52d82b036a82bfd2','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137438108239,2,1795842568722,'shown','acmeada','cancelled','apr_0d6f257dc36bf2b08a098b00c65204db','run_58d043d55666bc50','ada','interrupt','{"record":"885971c3f6ff47cc3bb97b5755dcdfff4389049216285d75ff5a137a99072695"}','ce688e673fbde4004e47e7f262d1711369433d468d2df4ac52d82b036a82bfd2','d24a8f40bc6e546b4fd3576b35b2e234e823565c7216d5a90e25bd06c7d78706','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137438108239,3,1795842568761,'cancelled','acmeada','cancelled','apr_0d6f257dc36bf2b08a098b00c65204db','','','','{"record":"81522ae9b2425b277434023d8cbd35d78fafc01e6b039ef5134dd46912fdac00"}','d24a8f40bc6e546b4fd3576b35b2e234e823565c7216d5a90e25bd06c7d78706','dac747a20d6f162bc5297be2cce20af0e344a2a12cc59d7aaf6e8f3a44ccbfe4','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137454640903,1,1795842568729,'asked','acmeada','gone','apr_0b0452dfc11f47716a78e6efb67fa541','run_ec0aadb7acb5dd91','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"7990046287bc74de83e3419e9d3fb034f417f1fc1033f60b24953f3297501f5e","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','c4c787a23a4d5cef709b2cf0dd7e8d93506ce3c561cf84bfca6f6aa922c04c94','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137454640903,2,1795842568729,'shown','acmeada','gone','apr_0b0452dfc11f47716a78e6efb67fa541','run_ec0aadb7acb5dd91','ada','interrupt','{"record":"7990046287bc74de83e3419e9d3fb034f417f1fc1033f60b24953f3297501f5e"}','c4c787a23a4d5cef709b2cf0dd7e8d93506ce3c561cf84bfca6f6aa922c04c94','a9cc0784412dc62aba27d63a190f21724ec20e817c32bde8f9af5e2f23c8ef1b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137454640903,3,1795842568766,'approved','acmeada','gone','apr_0b0452dfc11f47716a78e6efb67fa541','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"a26dc63353ad76e54fc9c9ed8f962b1e4f16f25e839eef03b3fa7c00e8b6cca2"}','a9cc0784412dc62aba27d63a190f21724ec20e817c32bde8f9af5e2f23c8ef1b','e83b6ab6cfc5dc93df1044aefcb1adaa36932fed6d17ea95a0e9448d05b7283d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137454640903,4,1795842568766,'claimed','acmeada','gone','apr_0b0452dfc11f47716a78e6efb67fa541','','','','{"record":"a26dc63353ad76e54fc9c9ed8f962b1e4f16f25e839eef03b3fa7c00e8b6cca2"}','e83b6ab6cfc5dc93df1044aefcb1adaa36932fed6d17ea95a0e9448d05b7283d','4c0230ecad07a51c2ccb5d1790de0bebe5aefbbe99acc2536a3943a540b5ae98','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137454640903,5,1795842568767,'deleted','acmeada','gone','apr_0b0452dfc11f47716a78e6efb67fa541','deletes','','','{"state":"claimed"}','4c0230ecad07a51c2ccb5d1790de0bebe5aefbbe99acc2536a3943a540b5ae98','eabd46202591379f770fb30ed5781e6fc2222ca93c7f3c6f888eae5c39a2ebb3','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137461192824,1,1795842568732,'asked','acmeada','counted','apr_2aadd906a51b0a6f49eedf0c687baa3a','run_52732b420b42207f','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"c7f73aeb517e6f94c668bce923a5f89bcbd890f6894014914a6df0f6efed47bd","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','c8cf392868d35bd16251a4633fb5af30a63fbaa8dadd463c53980837e314076b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137461192824,2,1795842568732,'shown','acmeada','counted','apr_2aadd906a51b0a6f49eedf0c687baa3a','run_52732b420b42207f','ada','interrupt','{"record":"c7f73aeb517e6f94c668bce923a5f89bcbd890f6894014914a6df0f6efed47bd"}','c8cf392868d35bd16251a4633fb5af30a63fbaa8dadd463c53980837e314076b','a9e0808ef2be333920673943ca95df15c59e64520e03bf02e9edb839ff34b9c9','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137461192824,3,1795842568772,'approved','acmeada','counted','apr_2aadd906a51b0a6f49eedf0c687baa3a','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"f68221d0d23f3c5e11c78265c0a0e4f62d5d60c743fec6f46858f36923eb58b7"}','a9e0808ef2be333920673943ca95df15c59e64520e03bf02e9edb839ff34b9c9','2ee09d88339e3397c901582fec91766c369df4bf79d52c8a3a709cb9c4440b3d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137461192824,4,1795842568772,'claimed','acmeada','counted','apr_2aadd906a51b0a6f49eedf0c687baa3a','','','','{"record":"f68221d0d23f3c5e11c78265c0a0e4f62d5d60c743fec6f46858f36923eb58b7"}','2ee09d88339e3397c901582fec91766c369df4bf79d52c8a3a709cb9c4440b3d','59ed1063227563e54c3f49558bf2ce650c61f09e90fb55ebf660a1f1591feba0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137461192824,5,1795842568776,'unknown','acmeada','counted','apr_2aadd906a51b0a6f49eedf0c687baa3a','','','','{"output":"03982e2adb2925b16d9a1a591a0665a8db33153c21d9fc1895a016da460d35cd","record":"ef6fe86fa656bc7c592327c7f8b7282ce24b0da547b22fb1b50c0bbd8a302c07"}','59ed1063227563e54c3f49558bf2ce650c61f09e90fb55ebf660a1f1591feba0','3216beaf2f4b92304191680785d5e6c0995d4e705dd6ca3017866de5f82d7da3','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137496280316,1,1795842568749,'asked','acmeada','passed','call passed','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call passed","expires_at":null,"record":"ebad911eb89852c4f14033d2c431d2b383e0251294c3e7049662e3fd998174e5","runner":"provider","schema":null,"source":"","tool":"refund"}','','ed4ee9a0078bcb4177cf7ff4a4d7f9649e51ece5ada2d0a1e30f3cca3a307ec5','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137496280316,2,1795842568762,'approved','acmeada','passed','call passed','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"1c7e4a31d38fe8658f178334c08a2bdc908cc8b82ea6d689e7dcbe2e7623c75a"}','ed4ee9a0078bcb4177cf7ff4a4d7f9649e51ece5ada2d0a1e30f3cca3a307ec5','d9762b16ee1d293faad11a976a56e44984dc48492b7d507097a6f69d5be1a723','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137496280316,3,1795842568762,'claimed','acmeada','passed','call passed','','','','{"record":"1c7e4a31d38fe8658f178334c08a2bdc908cc8b82ea6d689e7dcbe2e7623c75a"}','d9762b16ee1d293faad11a976a56e44984dc48492b7d507097a6f69d5be1a723','36fe3496d9cc402ad1a47658f40e644fac263b662cd19eee8e8c525d11b6375b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137496280316,4,1795842568763,'passed','acmeada','passed','call passed','','','','{"record":"dae902ec70c6d33d7b9dfa0b273d016a451ca100bcb5aea62232938bfd88c9c5"}','36fe3496d9cc402ad1a47658f40e644fac263b662cd19eee8e8c525d11b6375b','7214e3dff43fcf1310e374b0226d0782c5e3d3af3562683f7e66fcdd9070161f','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137504752968,1,1795842568752,'asked','acmeada','given back','call given back','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call given back","expires_at":null,"record":"e9afb01c57c69a9524a486fa68c530f8b355c9e5e9015a36a69ba96dbcc89c87","runner":"provider","schema":null,"source":"","tool":"refund"}','','162474cb7c87e422c6a31376ceb1b37d6dac9d4921f98799928a2c934ffa4645','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137504752968,2,1795842568764,'approved','acmeada','given back','call given back','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"4f76232b78d1ff4d876df2255cb03b536a52459fb2d064d59eff919743899bca"}','162474cb7c87e422c6a31376ceb1b37d6dac9d4921f98799928a2c934ffa4645','2d37dcdcc4866a337617de0b44dc290f91cb7d55657e75db7e7982e20aa75e69','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137504752968,3,1795842568764,'claimed','acmeada','given back','call given back','','','','{"record":"4f76232b78d1ff4d876df2255cb03b536a52459fb2d064d59eff919743899bca"}','2d37dcdcc4866a337617de0b44dc290f91cb7d55657e75db7e7982e20aa75e69','b657c1005b35e3e92bcb09e12d96a06e696bf6197c30cc633c0bb34e6937b3f8','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137504752968,4,1795842568764,'passed','acmeada','given back','call given back','','','','{"record":"150f0c82a298338edae3764a1c5a0ec9434b02bcd5cefd4d7e8b161bec9070b5"}','b657c1005b35e3e92bcb09e12d96a06e696bf6197c30cc633c0bb34e6937b3f8','6bc8fc091d489b05d496a4f05b69277664e1c17a91e61059050f7f9308c725ac','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591685137504752968,5,1795842568765,'given_back','acmeada','given back','call given back','','','','{"record":"39dee500964ca129300ded6d8ff6e9c496f65cf4d18f15868e9cc69c166c202a"}','6bc8fc091d489b05d496a4f05b69277664e1c17a91e61059050f7f9308c725ac','ce181c4bf8e30c1a93b21c2a3fb3ae86b91cb34a0cfe00f2f16486858d939e1c','427d61b2cc43','');
CREATE TABLE approval_steps (
    tenant TEXT NOT NULL DEFAULT '',
    approval TEXT NOT NULL,
    kind TEXT NOT NULL,
    after INTEGER NOT NULL,
    who TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval, kind, after)
) WITHOUT ROWID;
INSERT INTO "approval_steps" VALUES('','apr_2aadd906a51b0a6f49eedf0c687baa3a','reminder',100000000000000,'{"to":""}',100000000000000);
CREATE TABLE "approvals" (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    thread INTEGER NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    run_key TEXT NOT NULL,
    run_id TEXT NOT NULL DEFAULT '',
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT '',
    schema_digest TEXT,
    arguments TEXT NOT NULL,
    runner TEXT NOT NULL DEFAULT 'here',
    style TEXT NOT NULL,
    protocol_version TEXT,
    provider_ref TEXT,
    editable TEXT NOT NULL,
    message TEXT,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    decision TEXT,
    decided_at INTEGER,
    replaced INTEGER NOT NULL DEFAULT 0,
    was TEXT NOT NULL DEFAULT '',
    output TEXT, asker TEXT, people TEXT, trace TEXT NOT NULL DEFAULT '',
    UNIQUE (tenant, id),
    UNIQUE (tenant, thread, call_id),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);
INSERT INTO "approvals" VALUES(1,'','apr_9feece7d745d96e34a8bfd51da08e973',3591685136485728327,'acmeada','expired','support','run_38b4a81298ff1f61','r','01629f0e7cb67497efcbe536ec5ca262','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568251,1795842568252,'expired',NULL,1795842568263,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(2,'','apr_e518b08347275426168a4a28617074dc',3591685137196649649,'acmeada','done','support','run_354bbd47a71a3bbc','r','23cea6997ee7effc43a47aeaac56e805','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568601,NULL,'done','{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795842568634,0,'','{"content":"refunded"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]},"at":1795842568634,"of":"apr_e518b08347275426168a4a28617074dc"}]}','');
INSERT INTO "approvals" VALUES(3,'','apr_83c425d9933ad5efa629d138605f60ed',3591685137349153571,'acmeada','rejected','support','run_29f2995806f8dd10','r','bc2510051b46b9339459e6e67353185a','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568675,NULL,'rejected','{"approved":false,"by":"ben","reason":"too much","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795842568678,0,'','{"content":"{\"status\":\"rejected\",\"message\":\"The user rejected this call. It was not executed.\",\"reason\":\"too much\"}","is_error":true}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(4,'','apr_c8bbb8cc857c2990b78802295c8f0fe6',3591685137361277732,'acmeada','waits','support','run_beed2b6fef6866c3','r','d6bcbd1946c9ba864beb3e3d70bcc08f','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568681,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(5,'','apr_d3ad1c15fe0d42c57fc110fd6ed01686',3591685137367151140,'acmeada','handed on','support','run_b123fb6d91af3805','r','9c900d72cd24a61594cf766eee8afbbc','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568684,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"handed_to":"dan","handed_by":"ben"}','');
INSERT INTO "approvals" VALUES(6,'','apr_d8b367b894b88883eb83b1fb0fa5954b',3591685137401156468,'acmeada','claimed','support','run_31cd8542bdf5f627','r','ab4d4dec8ba7d3d40d431df96beac078','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568706,NULL,'claimed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568753,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795842568753,"of":"apr_d8b367b894b88883eb83b1fb0fa5954b"}]}','');
INSERT INTO "approvals" VALUES(7,'','apr_b54e3c2417ec39fd5e4059e2447b84f6',3591685137420451200,'acmeada','failed','support','run_0c33103079dde461','r','f8df520c95a9a5798c8e7fdcbb3ad074','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568711,NULL,'failed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568754,0,'','{"content":"It is failed."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795842568754,"of":"apr_b54e3c2417ec39fd5e4059e2447b84f6"}]}','');
INSERT INTO "approvals" VALUES(8,'','apr_bb81db8aad8b35adb8d13ce69438726e',3591685137427664083,'acmeada','unknown','support','run_441c200d713b131a','r','e264e347f2d00500ad7cbb437408623f','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568714,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568756,0,'','{"content":"It is unknown."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795842568756,"of":"apr_bb81db8aad8b35adb8d13ce69438726e"}]}','');
INSERT INTO "approvals" VALUES(9,'','apr_79a332328562d85305be035789a726a3',3591685137431959589,'acmeada','superseded','support','run_7b410dd7a7657411','r','b1f2a37edda33bd447b473af2312ef27','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568717,NULL,'superseded',NULL,1795842568758,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(10,'','apr_0d6f257dc36bf2b08a098b00c65204db',3591685137438108239,'acmeada','cancelled','support','run_58d043d55666bc50','r','a3479b4a0c8e5add55744fbd13760d4a','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568722,NULL,'cancelled',NULL,1795842568761,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(12,'','apr_2aadd906a51b0a6f49eedf0c687baa3a',3591685137461192824,'acmeada','counted','support','run_52732b420b42207f','r','18bc859639dc6d099abdcbba0ad5f4b2','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795842568732,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568772,0,'','{"content":"nobody knows"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795842568772,"of":"apr_2aadd906a51b0a6f49eedf0c687baa3a"}]}','');
INSERT INTO "approvals" VALUES(13,'','call passed',3591685137496280316,'acmeada','passed','support','r1','','turn','call-call passed','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795842568749,NULL,'passed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568762,0,'',NULL,NULL,NULL,'');
INSERT INTO "approvals" VALUES(14,'','call given back',3591685137504752968,'acmeada','given back','support','r1','','turn','call-call given back','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795842568752,NULL,'given_back','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795842568764,0,'',NULL,NULL,NULL,'');
CREATE TABLE budgets (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "budgets" VALUES('','principal:1:acmeada',1,1);
INSERT INTO "budgets" VALUES('','principal:20785:acmeada',48336,0);
CREATE TABLE checks (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    checked_at INTEGER NOT NULL
);
CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot TEXT NOT NULL,
    ahead INTEGER NOT NULL,
    seen INTEGER NOT NULL
);
INSERT INTO "clock" VALUES(1,'91de77ae-ab03-4501-b375-1a3dc57a1f07',1795782110463,1795842568788);
CREATE TABLE counted_calls (
    tenant TEXT NOT NULL DEFAULT '',
    whose TEXT NOT NULL,
    place TEXT NOT NULL,
    tool TEXT NOT NULL,
    at INTEGER NOT NULL,
    approval_id TEXT NOT NULL,
    numbers TEXT NOT NULL,
    PRIMARY KEY (tenant, whose, place, tool, at, approval_id)
) WITHOUT ROWID;
INSERT INTO "counted_calls" VALUES('','owner','acmeada','refund',1795842568772,'apr_2aadd906a51b0a6f49eedf0c687baa3a','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','principal','acmeada','refund',1795842568772,'apr_2aadd906a51b0a6f49eedf0c687baa3a','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','tenant','acme','refund',1795842568772,'apr_2aadd906a51b0a6f49eedf0c687baa3a','{"amount":"20"}');
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    notice TEXT NOT NULL,
    approval TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    gives_up_at INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
);
INSERT INTO "deliveries" VALUES(1,'','desk','waits','apr_2aadd906a51b0a6f49eedf0c687baa3a','{}',0,1795842568785,1795842568785,1795928968785,0,'');
INSERT INTO "deliveries" VALUES(2,'','desk','dead','apr_2aadd906a51b0a6f49eedf0c687baa3a','{}',1,1795842568785,1795842568785,1795928968785,1,'away');
CREATE TABLE delivery_workers (
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    worker TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, endpoint)
) WITHOUT ROWID;
INSERT INTO "delivery_workers" VALUES('','desk','server',1795842598785);
CREATE TABLE deputies (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    absent TEXT NOT NULL,
    deputy TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "deputies" VALUES('','dep_d89f96e17836cc40cbef38e086965824','acme','ben','dan',1795842568699,1799539200000,'{"id":"dep_d89f96e17836cc40cbef38e086965824","tenant":"acme","absent":"ben","deputy":"dan","since":1795842568699,"until":1799539200000,"person":"ben","roles":["finance"],"at":1795842568699}');
CREATE TABLE epoch (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL
);
INSERT INTO "epoch" VALUES(1,1);
CREATE TABLE freezes (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    tool TEXT,
    agent TEXT,
    of_tenant TEXT,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "freezes" VALUES('','["wire",null,null]','wire',NULL,NULL,'',1795842568784);
CREATE TABLE grants (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    giver TEXT NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "grants" VALUES('','grant','acme','acmeada','acmeben',2795842568772,'{"id":"grant","owner":"acme\u001fada","agent":"support","tool":"refund","scope":"thread","limits":{"duration":1000000000000},"approval_id":"apr_2aadd906a51b0a6f49eedf0c687baa3a","thread_id":"counted","giver":"ben","at":1795842568772}');
CREATE TABLE "journal" (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, seq),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);
INSERT INTO "journal" VALUES('',3591685136485728327,0,2,X'5B7B2274797065223A2275736572222C226964223A226564666637616330643164646161656461346331653665653133353132326633222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223031363239663065376362363734393765666362653533366563356361323632222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226166393737623031363739633533303265376431366238643733343562386431222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137178908674,0,2,X'5B7B2274797065223A2275736572222C226964223A223562386564373037326463373736376432326334373638396166366331636661222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A2268656C6C6F227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226666653735373338333138613734393437376332636232393938306466323562222C227061727473223A5B7B2274797065223A2274657874222C226964223A223331396536626330323363646536363736373264326166323563373461373261222C2274657874223A226F6B227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137196649649,0,2,X'5B7B2274797065223A2275736572222C226964223A223166313438616466633562626566386364666264323361643538323133323833222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223233636561363939376565376566666334336134376165616163353665383035222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223731626231343363366361653336313534303239643861616466386438653063222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137349153571,0,2,X'5B7B2274797065223A2275736572222C226964223A223031366538333162326534323431326136373335363231373764363165373732222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226263323531303035316234366239333339343539653665363733353331383561222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226634356137306535396335326132643761393461333164313335383036333035222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137361277732,0,2,X'5B7B2274797065223A2275736572222C226964223A223635323234313162333363396236303233306233363264306536613033383866222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226436626362643139343663396261383634626562336533643730626363303866222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223534613662646634316237633234313131333162306133373434666663363162222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137367151140,0,2,X'5B7B2274797065223A2275736572222C226964223A223265393936326634373135383237626439373239343661356361326533626262222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223963393030643732636432346136313539346366373636656565386166626263222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223763396237383361396534373665313138323431386539653834306236636565222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137401156468,0,2,X'5B7B2274797065223A2275736572222C226964223A223933363238653335306631376337643961333234373031393634326231316433222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226162346434646563386261376433643430643433316466393662656163303738222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226337386362323036303937343238353034663064333137393937313262643336222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137420451200,0,2,X'5B7B2274797065223A2275736572222C226964223A223537363162333532646430323661623462636131306462333830353237313533222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226638646635323063393561396135373938633865376664636262336164303734222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226531663164653965396330646339316463366565376263613962333163626532222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137427664083,0,2,X'5B7B2274797065223A2275736572222C226964223A226534633662616363616437373335323765353166396431396531393837353562222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226532363465333437663264303035303061643763626234333734303836323366222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223461336464646332386339333637346465393964653963646531643764633737222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137431959589,0,2,X'5B7B2274797065223A2275736572222C226964223A226365623135366365356162376331353739643032373934333537363931643939222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226231663261333765646461333362643434376234373361663233313265663237222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223465303933363638343466653834366639313337336362363038653132653464222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137438108239,0,2,X'5B7B2274797065223A2275736572222C226964223A223938613738333462356561663230383162336565373836633639313537656135222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226133343739623461306338653561646435353734346662643133373630643461222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223666376530396138323937303063356432333239356362316633613066363234222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137461192824,0,2,X'5B7B2274797065223A2275736572222C226964223A223939633137393262326134353066643333623835326435616131646462326363222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223138626338353936333964633664303939616264636262613061643566346232222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223364643566363339623033333837656662306438313265306635623830373838222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591685137496280316,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20706173736564222C22776972655F6964223A2263616C6C2D63616C6C20706173736564222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
INSERT INTO "journal" VALUES('',3591685137504752968,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20676976656E206261636B222C22776972655F6964223A2263616C6C2D63616C6C20676976656E206261636B222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
CREATE TABLE model_requests (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    run_key TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    first_ms INTEGER,
    ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    input INTEGER,
    output INTEGER,
    cached_input INTEGER,
    cache_write_input INTEGER,
    reasoning INTEGER,
    cost INTEGER,
    priced TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "model_requests" VALUES('','0be2c90133a388579e6ca5a6','acme','acmeada','ada','claimed','run_31cd8542bdf5f627','support','unknown','1',1795842568702,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','231f13133b0c430b6e7173d9','acme','acmeada','ada','rejected','run_29f2995806f8dd10','support','unknown','1',1795842568675,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','37c8952bace04451bd96221d','acme','acmeada','ada','waits','run_beed2b6fef6866c3','support','unknown','1',1795842568681,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','3e5be0e234a62c7e4315a8a2','acme','acmeada','ada','counted','run_52732b420b42207f','support','unknown','1',1795842568731,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','4ca5416419c3c59312fc9af1','acme','acmeada','ada','talks','run_a7b2b98cb5ae6b55','support','unknown','1',1795842568591,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','778d0ec20f9584f5339b2a65','acme','acmeada','ada','superseded','run_7b410dd7a7657411','support','unknown','1',1795842568717,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','77f7b23f0218db000263d464','acme','acmeada','ada','cancelled','run_58d043d55666bc50','support','unknown','1',1795842568720,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','7c9e89a0aca9f30dd7a584c7','acme','acmeada','ada','failed','run_0c33103079dde461','support','unknown','1',1795842568711,0,1,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','b28e8490cea5491dddb23c52','acme','acmeada','ada','handed on','run_b123fb6d91af3805','support','unknown','1',1795842568684,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','d71171704a955b7fa3a5e139','acme','acmeada','ada','unknown','run_441c200d713b131a','support','unknown','1',1795842568714,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','f54cfc97e7bb0fafab8cd437','acme','acmeada','ada','done','run_354bbd47a71a3bbc','support','unknown','1',1795842568600,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','ff9496a80ba9c2166e006d50','acme','acmeada','ada','gone','run_ec0aadb7acb5dd91','support','unknown','1',1795842568728,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL DEFAULT '',
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
INSERT INTO "outbox" VALUES(3,'','acmeada','done','approval_pending','apr_e518b08347275426168a4a28617074dc','{"state":"pending"}',1795842568601);
INSERT INTO "outbox" VALUES(4,'','acmeada','done','approval_decided','apr_e518b08347275426168a4a28617074dc','{"state":"claimed"}',1795842568634);
INSERT INTO "outbox" VALUES(5,'','acmeada','done','approval_decided','apr_e518b08347275426168a4a28617074dc','{"state":"done"}',1795842568670);
INSERT INTO "outbox" VALUES(6,'','acmeada','rejected','approval_pending','apr_83c425d9933ad5efa629d138605f60ed','{"state":"pending"}',1795842568675);
INSERT INTO "outbox" VALUES(7,'','acmeada','rejected','approval_decided','apr_83c425d9933ad5efa629d138605f60ed','{"state":"rejected"}',1795842568678);
INSERT INTO "outbox" VALUES(8,'','acmeada','waits','approval_pending','apr_c8bbb8cc857c2990b78802295c8f0fe6','{"state":"pending"}',1795842568681);
INSERT INTO "outbox" VALUES(9,'','acmeada','handed on','approval_pending','apr_d3ad1c15fe0d42c57fc110fd6ed01686','{"state":"pending"}',1795842568684);
INSERT INTO "outbox" VALUES(10,'','acmeada','handed on','approval_notice','apr_d3ad1c15fe0d42c57fc110fd6ed01686','{"by":"ben","state":"handed_to","to":["dan"]}',1795842568696);
INSERT INTO "outbox" VALUES(11,'','acmeben','','approval_notice','dep_d89f96e17836cc40cbef38e086965824','{"by":"ben","since":1795842568699,"state":"deputy_named","to":["dan"],"until":1799539200000}',1795842568699);
INSERT INTO "outbox" VALUES(12,'','acmeada','claimed','approval_pending','apr_d8b367b894b88883eb83b1fb0fa5954b','{"state":"pending"}',1795842568706);
INSERT INTO "outbox" VALUES(13,'','acmeada','failed','approval_pending','apr_b54e3c2417ec39fd5e4059e2447b84f6','{"state":"pending"}',1795842568711);
INSERT INTO "outbox" VALUES(14,'','acmeada','unknown','approval_pending','apr_bb81db8aad8b35adb8d13ce69438726e','{"state":"pending"}',1795842568714);
INSERT INTO "outbox" VALUES(15,'','acmeada','superseded','approval_pending','apr_79a332328562d85305be035789a726a3','{"state":"pending"}',1795842568717);
INSERT INTO "outbox" VALUES(16,'','acmeada','cancelled','approval_pending','apr_0d6f257dc36bf2b08a098b00c65204db','{"state":"pending"}',1795842568722);
INSERT INTO "outbox" VALUES(17,'','acmeada','gone','approval_pending','apr_0b0452dfc11f47716a78e6efb67fa541','{"state":"pending"}',1795842568729);
INSERT INTO "outbox" VALUES(18,'','acmeada','counted','approval_pending','apr_2aadd906a51b0a6f49eedf0c687baa3a','{"state":"pending"}',1795842568732);
INSERT INTO "outbox" VALUES(19,'','acmeada','passed','approval_pending','call passed','{"state":"pending"}',1795842568749);
INSERT INTO "outbox" VALUES(20,'','acmeada','given back','approval_pending','call given back','{"state":"pending"}',1795842568752);
INSERT INTO "outbox" VALUES(21,'','acmeada','claimed','approval_decided','apr_d8b367b894b88883eb83b1fb0fa5954b','{"state":"claimed"}',1795842568753);
INSERT INTO "outbox" VALUES(22,'','acmeada','failed','approval_decided','apr_b54e3c2417ec39fd5e4059e2447b84f6','{"state":"claimed"}',1795842568754);
INSERT INTO "outbox" VALUES(23,'','acmeada','failed','approval_decided','apr_b54e3c2417ec39fd5e4059e2447b84f6','{"state":"failed"}',1795842568755);
INSERT INTO "outbox" VALUES(24,'','acmeada','unknown','approval_decided','apr_bb81db8aad8b35adb8d13ce69438726e','{"state":"claimed"}',1795842568756);
INSERT INTO "outbox" VALUES(25,'','acmeada','unknown','approval_decided','apr_bb81db8aad8b35adb8d13ce69438726e','{"state":"unknown"}',1795842568757);
INSERT INTO "outbox" VALUES(26,'','acmeada','superseded','approval_decided','apr_79a332328562d85305be035789a726a3','{"state":"superseded"}',1795842568758);
INSERT INTO "outbox" VALUES(27,'','acmeada','cancelled','approval_decided','apr_0d6f257dc36bf2b08a098b00c65204db','{"state":"cancelled"}',1795842568761);
INSERT INTO "outbox" VALUES(28,'','acmeada','passed','approval_decided','call passed','{"state":"claimed"}',1795842568762);
INSERT INTO "outbox" VALUES(29,'','acmeada','given back','approval_decided','call given back','{"state":"claimed"}',1795842568764);
INSERT INTO "outbox" VALUES(30,'','acmeada','gone','approval_decided','apr_0b0452dfc11f47716a78e6efb67fa541','{"state":"claimed"}',1795842568766);
INSERT INTO "outbox" VALUES(31,'','acmeada','gone','approval_decided','apr_0b0452dfc11f47716a78e6efb67fa541','{"state":"deleted"}',1795842568767);
INSERT INTO "outbox" VALUES(32,'','acmeada','counted','approval_decided','apr_2aadd906a51b0a6f49eedf0c687baa3a','{"state":"claimed"}',1795842568772);
INSERT INTO "outbox" VALUES(33,'','acmeada','counted','approval_decided','apr_2aadd906a51b0a6f49eedf0c687baa3a','{"state":"unknown"}',1795842568776);
CREATE TABLE outbox_kinds (
    tenant TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL,
    wanted INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind)
) WITHOUT ROWID;
INSERT INTO "outbox_kinds" VALUES('','run_ended',1);
CREATE TABLE outbox_taker (
    tenant TEXT PRIMARY KEY,
    taker TEXT NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "outbox_taker" VALUES('','server',1795842578786);
CREATE TABLE person_keys (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "person_keys" VALUES('','4eddae2be82da931','','olga','f291bc678b0027977fa3a0244db2efd8a2c961602909d60e704cb59e047c8e84');
INSERT INTO "person_keys" VALUES('','5616a82c834be46f','acme','ben','db7b2373eb5fd7aaedaf3aba643d4ec26cf9d588f8da3d41ec39fe65379ab10f');
CREATE TABLE processes (
    owner TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL
) WITHOUT ROWID;
ANALYZE "sqlite_master";
CREATE TABLE "threads" (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT '',
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    run_key TEXT,
    run_status TEXT,
    lease_owner TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    title TEXT,
    archived INTEGER NOT NULL DEFAULT 0,
    alias TEXT,
    ref TEXT,
    stop TEXT,
    state TEXT,
    UNIQUE (tenant, key),
    UNIQUE (tenant, principal, id)
);
INSERT INTO "threads" VALUES(3591685136485728327,'','acmeada','expired','support',1795842568243,1795842568266,2,410,'run_38b4a81298ff1f61','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137178908674,'','acmeada','talks','support',1795842568589,1795842568591,2,268,'run_a7b2b98cb5ae6b55','finished',NULL,0,'hello',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137196649649,'','acmeada','done','support',1795842568599,1795842568672,2,561,'decide_c7c2e64a216b8b1be9d694c85b6b547e','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137349153571,'','acmeada','rejected','support',1795842568674,1795842568679,2,684,'decide_6a35e5145b29ccd55183422e56127388','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137361277732,'','acmeada','waits','support',1795842568680,1795842568681,2,410,'run_beed2b6fef6866c3','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137367151140,'','acmeada','handed on','support',1795842568683,1795842568684,2,410,'run_b123fb6d91af3805','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137401156468,'','acmeada','claimed','support',1795842568700,1795842568706,2,476,'run_31cd8542bdf5f627','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137420451200,'','acmeada','failed','support',1795842568709,1795842568711,2,503,'run_0c33103079dde461','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137427664083,'','acmeada','unknown','support',1795842568713,1795842568714,2,504,'run_441c200d713b131a','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137431959589,'','acmeada','superseded','support',1795842568716,1795842568717,2,410,'run_7b410dd7a7657411','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137438108239,'','acmeada','cancelled','support',1795842568719,1795842568722,2,410,'run_58d043d55666bc50','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137461192824,'','acmeada','counted','support',1795842568730,1795842568732,2,502,'run_52732b420b42207f','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137496280316,'','acmeada','passed','support',1795842568748,1795842568749,2,326,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591685137504752968,'','acmeada','given back','support',1795842568752,1795842568752,2,334,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
CREATE TABLE "tombstones" (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    source TEXT NOT NULL,
    state TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    output_digest TEXT,
    approved INTEGER,
    decided_by TEXT,
    way TEXT,
    asked_at INTEGER NOT NULL,
    decided_at INTEGER,
    deleted_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "tombstones" VALUES('','apr_0b0452dfc11f47716a78e6efb67fa541','acmeada','gone','support','refund','','unknown','ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001',NULL,1,'acme/ben','http',1795842568729,1795842568766,1795842568767);
CREATE TABLE usage_days (
    tenant TEXT NOT NULL DEFAULT '',
    of_tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached_input INTEGER NOT NULL,
    cache_write_input INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, of_tenant, day, owner, principal, agent, provider, model)
) WITHOUT ROWID;
INSERT INTO "usage_days" VALUES('','acme',20785,'acmeada','ada','support','unknown','1',12,0,0,0,0,0,0,0,0);
CREATE INDEX threads_by_alias ON threads (tenant, principal, alias) WHERE alias IS NOT NULL;
CREATE INDEX threads_running ON threads (tenant, run_key) WHERE run_status = 'running';
CREATE INDEX threads_listed ON threads (tenant, principal, archived, updated_at);
CREATE INDEX approvals_pending ON approvals (tenant, principal, seq) WHERE state = 'pending';
CREATE INDEX approvals_decided ON approvals (tenant, principal, seq) WHERE state <> 'pending';
CREATE INDEX approvals_asked_again ON approvals (tenant, was) WHERE was <> '';
CREATE INDEX tombstones_by_thread ON tombstones (tenant, principal, deleted_at);
CREATE INDEX approval_events_by_thread ON approval_events (tenant, principal, thread_id);
CREATE INDEX approvals_expiring ON approvals (tenant, expires_at, seq)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX threads_by_agent ON threads (tenant, principal, agent, archived, updated_at);
CREATE INDEX approvals_overdue ON approvals (tenant, principal, expires_at)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX approvals_waiting ON approvals (tenant, thread, expires_at) WHERE state = 'pending';
CREATE INDEX tombstones_by_name ON tombstones (tenant, principal, thread_id, deleted_at);
CREATE INDEX approvals_of_people ON approvals (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), seq) WHERE state = 'pending' AND people IS NOT NULL;
CREATE INDEX counted_calls_old ON counted_calls (tenant, at);
CREATE INDEX grants_of_owner ON grants (tenant, owner, until);
CREATE INDEX grants_of_giver ON grants (tenant, giver, until);
CREATE INDEX grants_of_tenant ON grants (tenant, of_tenant, until);
CREATE INDEX grants_old ON grants (tenant, until);
CREATE UNIQUE INDEX deliveries_once ON deliveries (tenant, endpoint, notice);
CREATE INDEX deliveries_due ON deliveries (tenant, endpoint, dead, due_at, id);
CREATE INDEX deliveries_of_approval ON deliveries (tenant, approval, endpoint, dead, due_at);
CREATE INDEX deliveries_dead ON deliveries (tenant, id) WHERE dead = 1;
CREATE INDEX deliveries_old ON deliveries (tenant, gives_up_at);
CREATE INDEX approval_steps_due ON approval_steps (tenant, due_at, approval);
CREATE INDEX approval_events_by_age ON approval_events (tenant, at, thread, seq);
CREATE INDEX approval_events_of_tenant ON approval_events (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), at, thread, seq);
CREATE INDEX approval_events_of_owner ON approval_events (tenant, principal, at, thread, seq);
CREATE INDEX approval_events_by_person ON approval_events (tenant, by, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), at, thread, seq) WHERE by <> '';
CREATE INDEX model_requests_of_thread ON model_requests (tenant, thread_id, at, id);
CREATE INDEX model_requests_of_owner ON model_requests (tenant, owner, at, id);
CREATE INDEX model_requests_of_tenant ON model_requests (tenant, of_tenant, at, id);
CREATE INDEX usage_days_of_owner ON usage_days (tenant, owner, day, principal, agent, provider, model);
CREATE UNIQUE INDEX person_keys_of_person ON person_keys (tenant, of_tenant, person);
CREATE INDEX threads_of_tenant ON threads (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
));
CREATE INDEX approvals_pending_of_tenant ON approvals (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
)) WHERE state = 'pending';
CREATE INDEX deputies_of_tenant ON deputies (tenant, of_tenant, until);
CREATE INDEX deputies_of_absent ON deputies (tenant, of_tenant, absent, until);
CREATE INDEX deputies_of_deputy ON deputies (tenant, of_tenant, deputy, until);
CREATE INDEX deputies_old ON deputies (tenant, until);
CREATE INDEX approval_events_emergencies ON approval_events (tenant, at) WHERE kind = 'break_glass';
CREATE INDEX approvals_people ON approvals (tenant, principal, seq) WHERE state = 'pending' AND people IS NOT NULL;
CREATE INDEX approvals_unsettled ON approvals (tenant, state, principal, seq)
    WHERE state = 'claimed' OR state = 'passed' OR state = 'given_back' OR state = 'unknown';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox',33);
INSERT INTO "sqlite_sequence" VALUES('deliveries',2);
COMMIT;
