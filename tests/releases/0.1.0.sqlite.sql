-- What a store of 0.1.0 looks like: made by tests/releases/fixture.py, and never changed.
PRAGMA application_id = 1095190356;
PRAGMA user_version = 22;
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
INSERT INTO "approval_events" VALUES('',0,1,1795796031321,'keyed','','','','','','','{"key":"427d61b2cc43"}','','9151405edc02caca024981342f1b917277a76bd34d73c2f120b4d658774c4169','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,2,1795796032589,'deputy_named','acmeben','','','','ben','http','{"absent":"ben","deputy":"dep_6b5fd63ef35109e445a0a0604cbbd4d2","person":"ben","roles":["finance"],"since":1795796032589,"to":"dan","until":1799539200000}','9151405edc02caca024981342f1b917277a76bd34d73c2f120b4d658774c4169','f9b7e81927f2fdd3cd4c638420fe896c139b1cfe5a72e42c9af2443ef904ce4f','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,3,1795796032859,'frozen','','','','','olga','operator','{"agent":null,"encrypted_reason":"19af6ceddc6da7d6.CpQnQp81IXIet/TBOhrIXz/EB4W3bvZpv7Uy+amXDZWdeGx7LWi7AVcD+OmYBA==","tenant":null,"tool":"wire"}','f9b7e81927f2fdd3cd4c638420fe896c139b1cfe5a72e42c9af2443ef904ce4f','2a2a983c56127e26fc941ee7f74d6facaff1e407871bca670c9813d65e0da9ed','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',938770467322839267,1,1795796032623,'asked','acmeada','gone','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','run_fddd563c9d6384be','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"3457263aee0d7ebb8ed5a9867688e12ced488280f28c2adfa0835f2454117580","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','b23b22f90af31d18aae52015c9ab055a261dd30e4e74de7aec513fad322ad4dd','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',938770467322839267,2,1795796032625,'shown','acmeada','gone','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','run_fddd563c9d6384be','ada','interrupt','{}','b23b22f90af31d18aae52015c9ab055a261dd30e4e74de7aec513fad322ad4dd','68b0565291664cf6d124b59bdf54f540111615c95fb4489e5c67138c72bbef78','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',938770467322839267,3,1795796032776,'approved','acmeada','gone','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"e0c2eccedae2fd0edbe99f9d72d4d7bd494a42d17386ab7456aee73b9eea88e0"}','68b0565291664cf6d124b59bdf54f540111615c95fb4489e5c67138c72bbef78','5551a075137eaa9d1ed717e4af2f1c295c7675b9a69cf7e1adc88772c96fcdc8','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',938770467322839267,4,1795796032776,'claimed','acmeada','gone','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','','','','{"record":"e0c2eccedae2fd0edbe99f9d72d4d7bd494a42d17386ab7456aee73b9eea88e0"}','5551a075137eaa9d1ed717e4af2f1c295c7675b9a69cf7e1adc88772c96fcdc8','09f7e8717b247a3ba8289efbf1ae40fbefe64a5884271f11d318cdd320093d38','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',938770467322839267,5,1795796032784,'deleted','acmeada','gone','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','deletes','','','{"state":"claimed"}','09f7e8717b247a3ba8289efbf1ae40fbefe64a5884271f11d318cdd320093d38','e124503e63a5c36530daddb62fb83aa2ec4811c07d2810b90028cb23bf3bb322','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1266362869429356640,1,1795796032569,'asked','acmeada','handed on','apr_62a605675447c73c26f034d8bd9c8350','run_a1fd8d8d46309f07','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"99e375a4b98deb1cc5a5399555eef0d6d6bb77b0576f728e3c60ed0c76222925","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','3d375208f1f7694ac19771672a200132052796c80015e304e092bce4d5a075c0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1266362869429356640,2,1795796032570,'shown','acmeada','handed on','apr_62a605675447c73c26f034d8bd9c8350','run_a1fd8d8d46309f07','ada','interrupt','{}','3d375208f1f7694ac19771672a200132052796c80015e304e092bce4d5a075c0','a72b2e12554dfdc407de597f0fdbca519f0df30aa418ff7b3bc296855b23c4e3','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1266362869429356640,3,1795796032585,'handed_to','acmeada','handed on','apr_62a605675447c73c26f034d8bd9c8350','','ben','http','{"record":"fb6a5f48f0cbb96f34c3ac03166a6c2f99a4fe707a97ab5a6df441a93941b64a","to":["dan"]}','a72b2e12554dfdc407de597f0fdbca519f0df30aa418ff7b3bc296855b23c4e3','1dbe262894cf7a147ff1ad58643b3b1b892b1f3247ed14b4ec944c473f4ba5d0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1551296605612255853,1,1795796032707,'asked','acmeada','given back','call given back','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call given back","expires_at":null,"record":"131434bfc71f55e469d6ddb1c6b7d3b870a52d1632c7ed4d14a448239aeebb49","runner":"provider","schema":null,"source":"","tool":"refund"}','','0b84600e8a50c27181bda0d0be73a20a31dce937a0fc1eb23a8d2a711b52807f','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1551296605612255853,2,1795796032753,'approved','acmeada','given back','call given back','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"9c83203dbbdac3dbd8d2c6e952194dd91ef3021760b923025f9bf4c37e0028cb"}','0b84600e8a50c27181bda0d0be73a20a31dce937a0fc1eb23a8d2a711b52807f','e042397e0a3ae86d3edf3899630ddf817628942b8043edf8cd7eb62d8043daa4','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1551296605612255853,3,1795796032753,'claimed','acmeada','given back','call given back','','','','{"record":"9c83203dbbdac3dbd8d2c6e952194dd91ef3021760b923025f9bf4c37e0028cb"}','e042397e0a3ae86d3edf3899630ddf817628942b8043edf8cd7eb62d8043daa4','8348403ddbc49496abeb5cac91b867e743e3c6be2e67df28f0234b76ad75646a','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1551296605612255853,4,1795796032756,'passed','acmeada','given back','call given back','','','','{"record":"8953e0d8e8a6a8efae64afd1b7fe3a899845dd7e05c8a5a9c58681d1c1646501"}','8348403ddbc49496abeb5cac91b867e743e3c6be2e67df28f0234b76ad75646a','6619aa0560fd9509e72d7031ebcc1925e4d8a32db648462b32e475fce082eda3','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1551296605612255853,5,1795796032771,'given_back','acmeada','given back','call given back','','','','{"record":"4dbea76d19cbaabb27a75536e1a722767b5f4bb04b2eb311f99c715f78b9ec84"}','6619aa0560fd9509e72d7031ebcc1925e4d8a32db648462b32e475fce082eda3','ce871ab0432a88851fa3817c9013fa680d8decf3ef94d0aa9e171214da4f048e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1864789306015877879,1,1795796032244,'asked','acmeada','done','apr_4678b7cd4f67fc284853e9ed1a115097','run_86df8d4da73dc3c1','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"7225751037f2fcdb62fcc4f3fce91e042f5da84d6e64a98b3f1fed155898b7da","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','192e21385d8e40f33e245c3dd2c07edaa42895a3cd8ea4ea084503fd9cafb3d2','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1864789306015877879,2,1795796032252,'shown','acmeada','done','apr_4678b7cd4f67fc284853e9ed1a115097','run_86df8d4da73dc3c1','ada','interrupt','{}','192e21385d8e40f33e245c3dd2c07edaa42895a3cd8ea4ea084503fd9cafb3d2','9e72fba39c5a640da4f5100fb6ff84e1ee67679c8c2f98d144ad7dc97d1803dc','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1864789306015877879,3,1795796032355,'approved','acmeada','done','apr_4678b7cd4f67fc284853e9ed1a115097','decide_39f50bc92129a53ed455f02435fea142','ben','http','{"address":"127.0.0.1","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","encrypted_reason":"34633821d9e608ed.y+VVbGEEEU4WZjcENgAU2LeFKStbQawDQyaPEIIENwn9Sbahlw==","person":"ben","record":"3d5924d55a4e9c4545efffb65d80626bd41a0e49750732253a28816a1bd237f0"}','9e72fba39c5a640da4f5100fb6ff84e1ee67679c8c2f98d144ad7dc97d1803dc','d8a351269e07efe7dbc45954f88ca71b25934a5fba307dfc314a7064310b7c85','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1864789306015877879,4,1795796032355,'claimed','acmeada','done','apr_4678b7cd4f67fc284853e9ed1a115097','decide_39f50bc92129a53ed455f02435fea142','','','{"record":"3d5924d55a4e9c4545efffb65d80626bd41a0e49750732253a28816a1bd237f0"}','d8a351269e07efe7dbc45954f88ca71b25934a5fba307dfc314a7064310b7c85','58ed3529b3f793dbfeab637b388c75a2443fa6a0f5c37ca540a5b48ea5fbc267','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',1864789306015877879,5,1795796032487,'done','acmeada','done','apr_4678b7cd4f67fc284853e9ed1a115097','','','','{"output":"fed1ce9f9259663d94839735b4de9d70c4f38201af6a980d5e53cfecfae97466","record":"c8f909ba9890b0c7d2da3d012b9ce48724ea4c31654952e62d74a6ce0e234798"}','58ed3529b3f793dbfeab637b388c75a2443fa6a0f5c37ca540a5b48ea5fbc267','9da007d5f58da95ce9a4b1f369715851ec9d4af11c622f13c276a522cbc4fd9a','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2614302617863743411,1,1795796032559,'asked','acmeada','waits','apr_a2839b5b4efe462a56fdcfd37fc26af5','run_b951d3859d692a52','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"4092148f7b0487132bd649e681ce65964a24c097e3acab4b4cfe8e251fba3a58","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','100ec523c12af5a576c65c8f650c19ca7d2ca08cd9f392a63c6a31a2c3b0a0a4','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2614302617863743411,2,1795796032561,'shown','acmeada','waits','apr_a2839b5b4efe462a56fdcfd37fc26af5','run_b951d3859d692a52','ada','interrupt','{}','100ec523c12af5a576c65c8f650c19ca7d2ca08cd9f392a63c6a31a2c3b0a0a4','949663fdc7ea48b9e613584c6608bec552affb2f17e06577e23004df6b8045dd','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2648026236838523942,1,1795796032592,'asked','acmeada','claimed','apr_679cf8ca26ce822ba6626f93319576e0','run_6b2224dab9c1db31','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"56788d101ee9b17a9b1e0503b6272ee2d1730c0ac5212c47f3fec52592bb7678","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','383c5ad966b9ea287da42e3156f07f4fa313c80d790a7cceac867e69a0531177','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2648026236838523942,2,1795796032594,'shown','acmeada','claimed','apr_679cf8ca26ce822ba6626f93319576e0','run_6b2224dab9c1db31','ada','interrupt','{}','383c5ad966b9ea287da42e3156f07f4fa313c80d790a7cceac867e69a0531177','222d3e8c18dd37f5d209b03201524ac3ecde7c7962c628e182bf0194c9026663','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2648026236838523942,3,1795796032716,'approved','acmeada','claimed','apr_679cf8ca26ce822ba6626f93319576e0','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"644269731d165e1c704b79a768fa0dc6ea1a957660fad1510e41aa52d89031df"}','222d3e8c18dd37f5d209b03201524ac3ecde7c7962c628e182bf0194c9026663','59a2fe211125e1ad12a77bd817fde9872f5cdcbc610b8767976d7ef493bdca65','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2648026236838523942,4,1795796032716,'claimed','acmeada','claimed','apr_679cf8ca26ce822ba6626f93319576e0','','','','{"record":"644269731d165e1c704b79a768fa0dc6ea1a957660fad1510e41aa52d89031df"}','59a2fe211125e1ad12a77bd817fde9872f5cdcbc610b8767976d7ef493bdca65','db287feaa6eef413a8625c5031c34644da47698b0309b4966c2853db3b10fe0b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2892867939439344555,1,1795796032603,'asked','acmeada','failed','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','run_acbd48ddad093d55','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"3919b1500cd5a232b04254d2f22e746734ad6a340fda4cd0ac86775e57742a6a","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','15ddc52a2affa1c0e3cc439baedcef6394b4f8d638df81f8403f6bf19cc2365c','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2892867939439344555,2,1795796032605,'shown','acmeada','failed','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','run_acbd48ddad093d55','ada','interrupt','{}','15ddc52a2affa1c0e3cc439baedcef6394b4f8d638df81f8403f6bf19cc2365c','34eecec7b94aead4eec9eeb8ab1199f46699b0d5f3aa78e5492022c6d4cc7641','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2892867939439344555,3,1795796032727,'approved','acmeada','failed','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"a2d59e6690d214139f04dd70d6dd22d587093dbb598b5a47360d42e11b4b4ade"}','34eecec7b94aead4eec9eeb8ab1199f46699b0d5f3aa78e5492022c6d4cc7641','708dc4ecfb3ef47d07c4453939645b1d2a02bfddc0ffb4c127d2d3dd2567b847','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2892867939439344555,4,1795796032727,'claimed','acmeada','failed','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','','','','{"record":"a2d59e6690d214139f04dd70d6dd22d587093dbb598b5a47360d42e11b4b4ade"}','708dc4ecfb3ef47d07c4453939645b1d2a02bfddc0ffb4c127d2d3dd2567b847','343a64f3213f75a01da1011dc3070a0437c607d1080dd5b22ca64a585f637c60','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',2892867939439344555,5,1795796032728,'failed','acmeada','failed','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','','','','{"output":"bfa582b0f7cb9ee8554aa40999ecfa6dcf55394dcbfbba00d5d06ab4c1866561","record":"e30a0ce2b789a768cbba12bb0b3a462a21a953f43e09fc9a80cc57bdacbb09ed"}','343a64f3213f75a01da1011dc3070a0437c607d1080dd5b22ca64a585f637c60','501e4432a01993380192ab3e9af348df131be84fa5c4c2e25627e2ab06f8e9f0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3109902444335117925,1,1795796031532,'asked','acmeada','expired','apr_081c3ffac9494b898d249210196bc6e6','run_7564b8bbd84a8679','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":1795796031533,"record":"98c8120b38c763334c24f7adbd3624547774e6cceffe3726604de20716569dba","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','0177abeffc135083f78f1bcc1ae337ab22f9b60372da200724e53d3e88449f5d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3109902444335117925,2,1795796031548,'expired','acmeada','expired','apr_081c3ffac9494b898d249210196bc6e6','','','','{"record":"63bd45a464d13049acd777f1a3f80718f59e30dcc0573bc1309183aebe98ea7c"}','0177abeffc135083f78f1bcc1ae337ab22f9b60372da200724e53d3e88449f5d','3664c5dc99fb2a1962ebeb711ee9456fb9ea18d9b1030346c646c90ab8d687fc','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3109902444335117925,3,1795796031559,'shown','acmeada','expired','apr_081c3ffac9494b898d249210196bc6e6','run_7564b8bbd84a8679','ada','interrupt','{}','3664c5dc99fb2a1962ebeb711ee9456fb9ea18d9b1030346c646c90ab8d687fc','fc9a22ca02d2bdcb41742a548cc685e39f01b399535841d306dba0b4c2720eba','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3141444459577427370,1,1795796032609,'asked','acmeada','unknown','apr_d163637258541603e0402cf6a50ef49f','run_2ea92fb2f557cd1a','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"332df8e4eaf3cd389f262147f3abf0274300ca161164626f9993bd64cf9bae70","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','903d9a49546c2808ddb48a1f9c52df69064eff97a959a6117c9f28a09e89ea50','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3141444459577427370,2,1795796032612,'shown','acmeada','unknown','apr_d163637258541603e0402cf6a50ef49f','run_2ea92fb2f557cd1a','ada','interrupt','{}','903d9a49546c2808ddb48a1f9c52df69064eff97a959a6117c9f28a09e89ea50','f5ecdfe076484620009ce1511a6a93f4f2f7df54571ba9c48c18d79094172be5','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3141444459577427370,3,1795796032731,'approved','acmeada','unknown','apr_d163637258541603e0402cf6a50ef49f','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"7591038f765ad5b1045ef047a7bd2fb9cb93a01b9c58873f4468546f873a8f28"}','f5ecdfe076484620009ce1511a6a93f4f2f7df54571ba9c48c18d79094172be5','e0102bb11bf111d6631e97e59011def3f9ca925ac0be257bb2ac58754fdd1384','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3141444459577427370,4,1795796032731,'claimed','acmeada','unknown','apr_d163637258541603e0402cf6a50ef49f','','','','{"record":"7591038f765ad5b1045ef047a7bd2fb9cb93a01b9c58873f4468546f873a8f28"}','e0102bb11bf111d6631e97e59011def3f9ca925ac0be257bb2ac58754fdd1384','7a329b2b3bf5ca7ce7d96fb36089c1c2ebf00372311d301ee6e474e91fa510cf','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3141444459577427370,5,1795796032732,'unknown','acmeada','unknown','apr_d163637258541603e0402cf6a50ef49f','','','','{"output":"acdd720c83aebd3cedc7962b3bf994fbca8fd20493cf0fe54340ea4903676440","record":"4dcf5fac57c1ffd0debce61f88b7e2146b2528da4891fad033967483bb2e4cf8"}','7a329b2b3bf5ca7ce7d96fb36089c1c2ebf00372311d301ee6e474e91fa510cf','baf6a4fa52b8614c249cdbaec8fc01e5183f28bebaa837cc77def94555ba74b5','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3578560033979112417,1,1795796032520,'asked','acmeada','rejected','apr_ae83d7803421d1754a30f5d172cce88f','run_be3b551aeb4fb1cb','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"5e50fbe4203957aff731a4d8d31adb5132b34f1638fed7213c05322ff6df3ffa","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','45ca978494d109ef82a1912c9820ac0c7065a684886990ea26a5698605f7fc32','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3578560033979112417,2,1795796032534,'shown','acmeada','rejected','apr_ae83d7803421d1754a30f5d172cce88f','run_be3b551aeb4fb1cb','ada','interrupt','{}','45ca978494d109ef82a1912c9820ac0c7065a684886990ea26a5698605f7fc32','7e4a397923b52c4505455996d43c80f393b8f3f57f43c82c1ab09f42ed4c5607','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3578560033979112417,3,1795796032546,'rejected','acmeada','rejected','apr_ae83d7803421d1754a30f5d172cce88f','decide_a118cbd22ebb7f25a67889eba2c476eb','ben','http','{"address":"127.0.0.1","encrypted_reason":"34633821d9e608ed./IicTZoiYKJEMD6J924eo8mOLzChPfj2VIJiQJTER1km0aUe","output":"b95eede6e05c2788ccd7988f8d3e150b441a563641a2f8474a54caebd32e9800","person":"ben","record":"f42200de8db06c1ccd3eec56da52eeb17b17f644cbea0a4f34360b2653b91bd1"}','7e4a397923b52c4505455996d43c80f393b8f3f57f43c82c1ab09f42ed4c5607','6329149d1f56f0537e41c7fd8f45bcddd004ed2cf3b11b45937e876dfd790d47','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3734487351869203098,1,1795796032627,'asked','acmeada','counted','apr_c362a6f582924ea36e2490ee42dbb157','run_a989aece4277638f','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"63d0e867623dc40a21b42aec04d189d37438e9f54c4b931b20e3f1b214455cc4","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','45eee25b03cbcbbabe74cd863656b11f06f5cae42da6f6747732f57e6f81c964','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3734487351869203098,2,1795796032629,'shown','acmeada','counted','apr_c362a6f582924ea36e2490ee42dbb157','run_a989aece4277638f','ada','interrupt','{}','45eee25b03cbcbbabe74cd863656b11f06f5cae42da6f6747732f57e6f81c964','c2ee90dad5fe912a0065e44bce2944a0bf49bb2493eabfefd8bf06360ad30e81','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3734487351869203098,3,1795796032796,'approved','acmeada','counted','apr_c362a6f582924ea36e2490ee42dbb157','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"8ac2a8273befb1cfcd18d13a48a56ee6d9f85caef6558843fb71ca32fafc9bea"}','c2ee90dad5fe912a0065e44bce2944a0bf49bb2493eabfefd8bf06360ad30e81','c8f936469f2f53aa222cf2c492a65345bfe4d21284d1371a8f76d9133822fda5','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3734487351869203098,4,1795796032796,'claimed','acmeada','counted','apr_c362a6f582924ea36e2490ee42dbb157','','','','{"record":"8ac2a8273befb1cfcd18d13a48a56ee6d9f85caef6558843fb71ca32fafc9bea"}','c8f936469f2f53aa222cf2c492a65345bfe4d21284d1371a8f76d9133822fda5','2d72c789146e42de9385fcfd42cc6d7057a903cad802024f31693ba604a36c98','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3734487351869203098,5,1795796032822,'unknown','acmeada','counted','apr_c362a6f582924ea36e2490ee42dbb157','','','','{"output":"03982e2adb2925b16d9a1a591a0665a8db33153c21d9fc1895a016da460d35cd","record":"7abad219b837df0009b3e22983fbf415a0d0315e6e98aaae1daa96e3d281d245"}','2d72c789146e42de9385fcfd42cc6d7057a903cad802024f31693ba604a36c98','48a875cd20ad94753d6b714ebffd6acec2ebefe5ab82f42c9a702255a4533a75','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3895399645462977822,1,1795796032619,'asked','acmeada','cancelled','apr_3547341c0b7154127a77e6e5af0a5e4a','run_fe1499566f95d65e','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"5718977ddaaffaac7e76f18c5b6aff3036781499066d507c33ff4f0252ffb06b","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','3d15e83d14c82337abf752d8dcdabe3a3c095e76703ed1112bf5ba72dc24130e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3895399645462977822,2,1795796032621,'shown','acmeada','cancelled','apr_3547341c0b7154127a77e6e5af0a5e4a','run_fe1499566f95d65e','ada','interrupt','{}','3d15e83d14c82337abf752d8dcdabe3a3c095e76703ed1112bf5ba72dc24130e','64abcc8edbb88c626eadd736a834fd2de3a2d02822df49034436d14c03fbebc6','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3895399645462977822,3,1795796032743,'cancelled','acmeada','cancelled','apr_3547341c0b7154127a77e6e5af0a5e4a','','','','{"record":"dd8a3846edc45621406fd42343929d24b992a0be50c6b4ea035ff52224bc936d"}','64abcc8edbb88c626eadd736a834fd2de3a2d02822df49034436d14c03fbebc6','164e0b0dc3fd22e00502239b90f5ffb02e7d6cffc559d7690b6c6650241b029b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4126461983813312262,1,1795796032614,'asked','acmeada','superseded','apr_28ba028da85aa5f80b903c4b68043176','run_bace18d7bbfc2a55','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"69e09e4198a6606cf753b6151be437f9a366afa54270c0b93cedaa46bc20e909","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','772482ea739557fb156d85b5a2edd69ff812f2ecf8c5b8660e8d87bea2da9dd5','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4126461983813312262,2,1795796032617,'shown','acmeada','superseded','apr_28ba028da85aa5f80b903c4b68043176','run_bace18d7bbfc2a55','ada','interrupt','{}','772482ea739557fb156d85b5a2edd69ff812f2ecf8c5b8660e8d87bea2da9dd5','4ef81d39a0633a557b10efa29c1a4ba841599c379b4965d18d0bae82ccb7220d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4126461983813312262,3,1795796032733,'superseded','acmeada','superseded','apr_28ba028da85aa5f80b903c4b68043176','','','','{"record":"a1d6188a638b7f88947ff16b31ed61cff85e07f293cc0085ff7d3643818f6649"}','4ef81d39a0633a557b10efa29c1a4ba841599c379b4965d18d0bae82ccb7220d','0c3154913f9f833dd92ba6b6c9dc72bcce6833cf1dbc6e9f322d60a58d67d27a','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4326962824730949856,1,1795796032675,'asked','acmeada','passed','call passed','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call passed","expires_at":null,"record":"1e1aced5149c0564252e9099c953a8e51dfb1989465cd62960ad5b809fbd65e6","runner":"provider","schema":null,"source":"","tool":"refund"}','','7b4a6dda2e7cd98534dc89f71c9033eb1dc6be2c61009946c32983d7ec9a5b14','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4326962824730949856,2,1795796032748,'approved','acmeada','passed','call passed','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"0666fae5b7eb5b7a624e15b5067617dac7abeeeed31f479fe80ae1ccbe1c3626"}','7b4a6dda2e7cd98534dc89f71c9033eb1dc6be2c61009946c32983d7ec9a5b14','bf265116cb80052c6e4c3a014b9a0fda9a65acc962857067dcaa941bc04fcfe2','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4326962824730949856,3,1795796032748,'claimed','acmeada','passed','call passed','','','','{"record":"0666fae5b7eb5b7a624e15b5067617dac7abeeeed31f479fe80ae1ccbe1c3626"}','bf265116cb80052c6e4c3a014b9a0fda9a65acc962857067dcaa941bc04fcfe2','9e0fbb9768529a5516badd84788992ca25b908dd871fd59cf796bcc9896c463a','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',4326962824730949856,4,1795796032752,'passed','acmeada','passed','call passed','','','','{"record":"26099d5cc57dcc266843d115c1d76caf3091aa69d182d080ac8b0af15182cd7c"}','9e0fbb9768529a5516badd84788992ca25b908dd871fd59cf796bcc9896c463a','8fe02d46e26e4391ac30a422523a48098cb3af0a6e04403b6f95fa98dedad7bb','427d61b2cc43','');
CREATE TABLE approval_steps (
    tenant TEXT NOT NULL DEFAULT '',
    approval TEXT NOT NULL,
    kind TEXT NOT NULL,
    after INTEGER NOT NULL,
    who TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval, kind, after)
) WITHOUT ROWID;
INSERT INTO "approval_steps" VALUES('','apr_c362a6f582924ea36e2490ee42dbb157','reminder',100000000000000,'{"to":""}',100000000000000);
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
INSERT INTO "approvals" VALUES(1,'','apr_081c3ffac9494b898d249210196bc6e6',3109902444335117925,'acmeada','expired','support','run_7564b8bbd84a8679','r','fbdd068d355b7abc0a9efe9bc5fdfa3c','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796031532,1795796031533,'expired',NULL,1795796031548,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(2,'','apr_4678b7cd4f67fc284853e9ed1a115097',1864789306015877879,'acmeada','done','support','run_86df8d4da73dc3c1','r','0cd40e8050fe65a9dcd8eac59bd1319e','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032244,NULL,'done','{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795796032355,0,'','{"content":"refunded"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]},"at":1795796032355,"of":"apr_4678b7cd4f67fc284853e9ed1a115097"}]}','');
INSERT INTO "approvals" VALUES(3,'','apr_ae83d7803421d1754a30f5d172cce88f',3578560033979112417,'acmeada','rejected','support','run_be3b551aeb4fb1cb','r','7f13b66ff1ceccff1fd875a3663a7e44','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032520,NULL,'rejected','{"approved":false,"by":"ben","reason":"too much","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795796032546,0,'','{"content":"{\"status\":\"rejected\",\"message\":\"The user rejected this call. It was not executed.\",\"reason\":\"too much\"}","is_error":true}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(4,'','apr_a2839b5b4efe462a56fdcfd37fc26af5',2614302617863743411,'acmeada','waits','support','run_b951d3859d692a52','r','e295a496e205e0ffa5c5cc2a01cf6833','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032559,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(5,'','apr_62a605675447c73c26f034d8bd9c8350',1266362869429356640,'acmeada','handed on','support','run_a1fd8d8d46309f07','r','f2eb0530740bb246f57a3220ff7782d6','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032569,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"handed_to":"dan","handed_by":"ben"}','');
INSERT INTO "approvals" VALUES(6,'','apr_679cf8ca26ce822ba6626f93319576e0',2648026236838523942,'acmeada','claimed','support','run_6b2224dab9c1db31','r','49ac996d6058149adc77cf4472b6d425','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032592,NULL,'claimed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032716,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795796032716,"of":"apr_679cf8ca26ce822ba6626f93319576e0"}]}','');
INSERT INTO "approvals" VALUES(7,'','apr_1b04e003dd8f4c8ad3c43cf7beb514d4',2892867939439344555,'acmeada','failed','support','run_acbd48ddad093d55','r','0ee1e511ad65417f8d5faf6312bff266','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032603,NULL,'failed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032727,0,'','{"content":"It is failed."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795796032727,"of":"apr_1b04e003dd8f4c8ad3c43cf7beb514d4"}]}','');
INSERT INTO "approvals" VALUES(8,'','apr_d163637258541603e0402cf6a50ef49f',3141444459577427370,'acmeada','unknown','support','run_2ea92fb2f557cd1a','r','7aa28aaf839b5d08465910fce0851315','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032609,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032731,0,'','{"content":"It is unknown."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795796032731,"of":"apr_d163637258541603e0402cf6a50ef49f"}]}','');
INSERT INTO "approvals" VALUES(9,'','apr_28ba028da85aa5f80b903c4b68043176',4126461983813312262,'acmeada','superseded','support','run_bace18d7bbfc2a55','r','fa033ea748118005fd395e973008270c','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032614,NULL,'superseded',NULL,1795796032733,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(10,'','apr_3547341c0b7154127a77e6e5af0a5e4a',3895399645462977822,'acmeada','cancelled','support','run_fe1499566f95d65e','r','dee5d7397bd94220f3547c4b7298f12b','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032619,NULL,'cancelled',NULL,1795796032743,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(12,'','apr_c362a6f582924ea36e2490ee42dbb157',3734487351869203098,'acmeada','counted','support','run_a989aece4277638f','r','8281c2aa17b1b793f15249849d092f50','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795796032627,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032796,0,'','{"content":"nobody knows"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795796032796,"of":"apr_c362a6f582924ea36e2490ee42dbb157"}]}','');
INSERT INTO "approvals" VALUES(13,'','call passed',4326962824730949856,'acmeada','passed','support','r1','','turn','call-call passed','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795796032675,NULL,'passed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032748,0,'',NULL,NULL,NULL,'');
INSERT INTO "approvals" VALUES(14,'','call given back',1551296605612255853,'acmeada','given back','support','r1','','turn','call-call given back','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795796032707,NULL,'given_back','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795796032753,0,'',NULL,NULL,NULL,'');
CREATE TABLE budgets (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "budgets" VALUES('','principal:1:acmeada',1,1);
INSERT INTO "budgets" VALUES('','principal:20784:acmeada',48336,0);
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
INSERT INTO "clock" VALUES(1,'91de77ae-ab03-4501-b375-1a3dc57a1f07',1795782110463,1795796032876);
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
INSERT INTO "counted_calls" VALUES('','owner','acmeada','refund',1795796032796,'apr_c362a6f582924ea36e2490ee42dbb157','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','principal','acmeada','refund',1795796032796,'apr_c362a6f582924ea36e2490ee42dbb157','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','tenant','acme','refund',1795796032796,'apr_c362a6f582924ea36e2490ee42dbb157','{"amount":"20"}');
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
INSERT INTO "deliveries" VALUES(1,'','desk','waits','apr_c362a6f582924ea36e2490ee42dbb157','{}',0,1795796032865,1795796032865,1795882432865,0,'');
INSERT INTO "deliveries" VALUES(2,'','desk','dead','apr_c362a6f582924ea36e2490ee42dbb157','{}',1,1795796032865,1795796032868,1795882432865,1,'away');
CREATE TABLE delivery_workers (
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    worker TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, endpoint)
) WITHOUT ROWID;
INSERT INTO "delivery_workers" VALUES('','desk','server',1795796062866);
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
INSERT INTO "deputies" VALUES('','dep_6b5fd63ef35109e445a0a0604cbbd4d2','acme','ben','dan',1795796032589,1799539200000,'{"id":"dep_6b5fd63ef35109e445a0a0604cbbd4d2","tenant":"acme","absent":"ben","deputy":"dan","since":1795796032589,"until":1799539200000,"person":"ben","roles":["finance"],"at":1795796032589}');
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
INSERT INTO "freezes" VALUES('','["wire",null,null]','wire',NULL,NULL,'',1795796032859);
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
INSERT INTO "grants" VALUES('','grant','acme','acmeada','acmeben',2795796032796,'{"id":"grant","owner":"acme\u001fada","agent":"support","tool":"refund","scope":"thread","limits":{"duration":1000000000000},"approval_id":"apr_c362a6f582924ea36e2490ee42dbb157","thread_id":"counted","giver":"ben","at":1795796032796}');
CREATE TABLE "journal" (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, seq),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);
INSERT INTO "journal" VALUES('',3109902444335117925,0,2,X'5B7B2274797065223A2275736572222C226964223A226436303034323430613630626662623162663934633238613537636466343663222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226662646430363864333535623761626330613965666539626335666466613363222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223436333461643765303466346231613534643833343262656338386562316262222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',479256435548454766,0,2,X'5B7B2274797065223A2275736572222C226964223A226335636465383236376362653864616537326261306633636337386235306132222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A2268656C6C6F227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223938336132636666373832343362613932343835386632613462306133663836222C227061727473223A5B7B2274797065223A2274657874222C226964223A226432363536396436336233666631316266663261376532303130393234363739222C2274657874223A226F6B227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',1864789306015877879,0,2,X'5B7B2274797065223A2275736572222C226964223A223762336331646538666565353465356135653765363434373733633439633935222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223063643430653830353066653635613964636438656163353962643133313965222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223334326632653337373739643734666565633962326234393835663563366132222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3578560033979112417,0,2,X'5B7B2274797065223A2275736572222C226964223A223934616563623139663433666439376465333262316163373335626234316661222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223766313362363666663163656363666631666438373561333636336137653434222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223936396262306336306565343364623165383530643632366364666633373663222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',2614302617863743411,0,2,X'5B7B2274797065223A2275736572222C226964223A223435633532653633336137613230313038373863623663343665616364333966222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226532393561343936653230356530666661356335636332613031636636383333222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223335336563383538303837653662346362386666376134653631666164616136222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',1266362869429356640,0,2,X'5B7B2274797065223A2275736572222C226964223A226366393432313633373931656331663636356364653061646234656632643736222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226632656230353330373430626232343666353761333232306666373738326436222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226633643466333137386235613835623639653831663530303863363565333833222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',2648026236838523942,0,2,X'5B7B2274797065223A2275736572222C226964223A226333623665333832333965306665383665346465313530646465633834346666222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223439616339393664363035383134396164633737636634343732623664343235222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223765366639656466366338313232626337666130343330666462346264333661222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',2892867939439344555,0,2,X'5B7B2274797065223A2275736572222C226964223A223239343135633333636535346366373931666230666537356166393764663031222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223065653165353131616436353431376638643566616636333132626666323636222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223739386366306235326466643836323936313636663636613032386264336163222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3141444459577427370,0,2,X'5B7B2274797065223A2275736572222C226964223A226534636166353833323561366261313733316432326639653465633263646565222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223761613238616166383339623564303834363539313066636530383531333135222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226332643934313737363763303962323935623233383766323664343162336132222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',4126461983813312262,0,2,X'5B7B2274797065223A2275736572222C226964223A223938646365363737373463393836386163346463393535633436333362323161222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226661303333656137343831313830303566643339356539373330303832373063222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226130346665393931326431376533383731386533336231653033363837366433222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3895399645462977822,0,2,X'5B7B2274797065223A2275736572222C226964223A226633303337653736333964386332303663363632333563323961656539666466222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226465653564373339376264393432323066333534376334623732393866313262222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226530323439373037653065353436613863313238373532643262613834656632222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3734487351869203098,0,2,X'5B7B2274797065223A2275736572222C226964223A223761336363343665623035393535323233613536393436643438666139663936222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223832383163326161313762316237393366313532343938343964303932663530222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223134636634343932636663386463393536633633353137363133396665613736222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',4326962824730949856,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20706173736564222C22776972655F6964223A2263616C6C2D63616C6C20706173736564222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
INSERT INTO "journal" VALUES('',1551296605612255853,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20676976656E206261636B222C22776972655F6964223A2263616C6C2D63616C6C20676976656E206261636B222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
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
INSERT INTO "model_requests" VALUES('','09c18c3551ee73e9ead2711d','acme','acmeada','ada','done','run_86df8d4da73dc3c1','support','unknown','1',1795796032244,0,1,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','421f15cccb67935abd9da591','acme','acmeada','ada','claimed','run_6b2224dab9c1db31','support','unknown','1',1795796032592,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','50b8c0e244bfb43b38e87061','acme','acmeada','ada','waits','run_b951d3859d692a52','support','unknown','1',1795796032559,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','556bc6a33e56f1d54f2dce0b','acme','acmeada','ada','failed','run_acbd48ddad093d55','support','unknown','1',1795796032603,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','5a2edce433397cf380fbff01','acme','acmeada','ada','superseded','run_bace18d7bbfc2a55','support','unknown','1',1795796032614,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','6de8c83c0e6742e422874e24','acme','acmeada','ada','rejected','run_be3b551aeb4fb1cb','support','unknown','1',1795796032520,0,1,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','718cf964ccfafb50d662c9d6','acme','acmeada','ada','talks','run_afc883ecebab01b2','support','unknown','1',1795796032226,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','d0981ddee44c4cb321cce01f','acme','acmeada','ada','gone','run_fddd563c9d6384be','support','unknown','1',1795796032623,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','d5bed3c1f3f814f461582a88','acme','acmeada','ada','unknown','run_2ea92fb2f557cd1a','support','unknown','1',1795796032609,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','d8d2b85569c6d4fa7d909556','acme','acmeada','ada','handed on','run_a1fd8d8d46309f07','support','unknown','1',1795796032568,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','e5324168cebdfcb4ed1ba6d2','acme','acmeada','ada','counted','run_a989aece4277638f','support','unknown','1',1795796032627,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','f304b312da899ac2cb957d34','acme','acmeada','ada','cancelled','run_fe1499566f95d65e','support','unknown','1',1795796032619,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
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
INSERT INTO "outbox" VALUES(3,'','acmeada','done','approval_pending','apr_4678b7cd4f67fc284853e9ed1a115097','{"state":"pending"}',1795796032244);
INSERT INTO "outbox" VALUES(4,'','acmeada','done','approval_decided','apr_4678b7cd4f67fc284853e9ed1a115097','{"state":"claimed"}',1795796032355);
INSERT INTO "outbox" VALUES(5,'','acmeada','done','approval_decided','apr_4678b7cd4f67fc284853e9ed1a115097','{"state":"done"}',1795796032487);
INSERT INTO "outbox" VALUES(6,'','acmeada','rejected','approval_pending','apr_ae83d7803421d1754a30f5d172cce88f','{"state":"pending"}',1795796032520);
INSERT INTO "outbox" VALUES(7,'','acmeada','rejected','approval_decided','apr_ae83d7803421d1754a30f5d172cce88f','{"state":"rejected"}',1795796032546);
INSERT INTO "outbox" VALUES(8,'','acmeada','waits','approval_pending','apr_a2839b5b4efe462a56fdcfd37fc26af5','{"state":"pending"}',1795796032559);
INSERT INTO "outbox" VALUES(9,'','acmeada','handed on','approval_pending','apr_62a605675447c73c26f034d8bd9c8350','{"state":"pending"}',1795796032569);
INSERT INTO "outbox" VALUES(10,'','acmeada','handed on','approval_notice','apr_62a605675447c73c26f034d8bd9c8350','{"by":"ben","state":"handed_to","to":["dan"]}',1795796032585);
INSERT INTO "outbox" VALUES(11,'','acmeada','claimed','approval_pending','apr_679cf8ca26ce822ba6626f93319576e0','{"state":"pending"}',1795796032592);
INSERT INTO "outbox" VALUES(12,'','acmeada','failed','approval_pending','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','{"state":"pending"}',1795796032603);
INSERT INTO "outbox" VALUES(13,'','acmeada','unknown','approval_pending','apr_d163637258541603e0402cf6a50ef49f','{"state":"pending"}',1795796032609);
INSERT INTO "outbox" VALUES(14,'','acmeada','superseded','approval_pending','apr_28ba028da85aa5f80b903c4b68043176','{"state":"pending"}',1795796032614);
INSERT INTO "outbox" VALUES(15,'','acmeada','cancelled','approval_pending','apr_3547341c0b7154127a77e6e5af0a5e4a','{"state":"pending"}',1795796032619);
INSERT INTO "outbox" VALUES(16,'','acmeada','gone','approval_pending','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','{"state":"pending"}',1795796032623);
INSERT INTO "outbox" VALUES(17,'','acmeada','counted','approval_pending','apr_c362a6f582924ea36e2490ee42dbb157','{"state":"pending"}',1795796032627);
INSERT INTO "outbox" VALUES(18,'','acmeada','passed','approval_pending','call passed','{"state":"pending"}',1795796032675);
INSERT INTO "outbox" VALUES(19,'','acmeada','given back','approval_pending','call given back','{"state":"pending"}',1795796032707);
INSERT INTO "outbox" VALUES(20,'','acmeada','claimed','approval_decided','apr_679cf8ca26ce822ba6626f93319576e0','{"state":"claimed"}',1795796032716);
INSERT INTO "outbox" VALUES(21,'','acmeada','failed','approval_decided','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','{"state":"claimed"}',1795796032727);
INSERT INTO "outbox" VALUES(22,'','acmeada','failed','approval_decided','apr_1b04e003dd8f4c8ad3c43cf7beb514d4','{"state":"failed"}',1795796032728);
INSERT INTO "outbox" VALUES(23,'','acmeada','unknown','approval_decided','apr_d163637258541603e0402cf6a50ef49f','{"state":"claimed"}',1795796032731);
INSERT INTO "outbox" VALUES(24,'','acmeada','unknown','approval_decided','apr_d163637258541603e0402cf6a50ef49f','{"state":"unknown"}',1795796032732);
INSERT INTO "outbox" VALUES(25,'','acmeada','superseded','approval_decided','apr_28ba028da85aa5f80b903c4b68043176','{"state":"superseded"}',1795796032733);
INSERT INTO "outbox" VALUES(26,'','acmeada','cancelled','approval_decided','apr_3547341c0b7154127a77e6e5af0a5e4a','{"state":"cancelled"}',1795796032743);
INSERT INTO "outbox" VALUES(27,'','acmeada','passed','approval_decided','call passed','{"state":"claimed"}',1795796032748);
INSERT INTO "outbox" VALUES(28,'','acmeada','given back','approval_decided','call given back','{"state":"claimed"}',1795796032753);
INSERT INTO "outbox" VALUES(29,'','acmeada','gone','approval_decided','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','{"state":"claimed"}',1795796032776);
INSERT INTO "outbox" VALUES(30,'','acmeada','gone','approval_decided','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','{"state":"deleted"}',1795796032784);
INSERT INTO "outbox" VALUES(31,'','acmeada','counted','approval_decided','apr_c362a6f582924ea36e2490ee42dbb157','{"state":"claimed"}',1795796032796);
INSERT INTO "outbox" VALUES(32,'','acmeada','counted','approval_decided','apr_c362a6f582924ea36e2490ee42dbb157','{"state":"unknown"}',1795796032822);
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
INSERT INTO "outbox_taker" VALUES('','server',1795796042875);
CREATE TABLE person_keys (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "person_keys" VALUES('','19af6ceddc6da7d6','','olga','6be97800ddc4a1b71ca5a9e6245a0917bb4847f4220d29b21b95921a6ca9255f');
INSERT INTO "person_keys" VALUES('','34633821d9e608ed','acme','ben','ee474a7e5746fab6e45f3ca73bae933ef81d05a9a56b23dd2e9a8a6296b8c9ba');
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
INSERT INTO "threads" VALUES(479256435548454766,'','acmeada','talks','support',1795796032212,1795796032235,2,268,'run_afc883ecebab01b2','finished',NULL,0,'hello',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(1266362869429356640,'','acmeada','handed on','support',1795796032567,1795796032570,2,410,'run_a1fd8d8d46309f07','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(1551296605612255853,'','acmeada','given back','support',1795796032703,1795796032707,2,334,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(1864789306015877879,'','acmeada','done','support',1795796032237,1795796032500,2,561,'decide_39f50bc92129a53ed455f02435fea142','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(2614302617863743411,'','acmeada','waits','support',1795796032558,1795796032561,2,410,'run_b951d3859d692a52','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(2648026236838523942,'','acmeada','claimed','support',1795796032590,1795796032594,2,476,'run_6b2224dab9c1db31','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(2892867939439344555,'','acmeada','failed','support',1795796032601,1795796032605,2,503,'run_acbd48ddad093d55','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3109902444335117925,'','acmeada','expired','support',1795796031527,1795796031559,2,410,'run_7564b8bbd84a8679','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3141444459577427370,'','acmeada','unknown','support',1795796032607,1795796032612,2,504,'run_2ea92fb2f557cd1a','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3578560033979112417,'','acmeada','rejected','support',1795796032501,1795796032556,2,684,'decide_a118cbd22ebb7f25a67889eba2c476eb','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3734487351869203098,'','acmeada','counted','support',1795796032626,1795796032629,2,502,'run_a989aece4277638f','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3895399645462977822,'','acmeada','cancelled','support',1795796032618,1795796032621,2,410,'run_fe1499566f95d65e','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(4126461983813312262,'','acmeada','superseded','support',1795796032613,1795796032617,2,410,'run_bace18d7bbfc2a55','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(4326962824730949856,'','acmeada','passed','support',1795796032674,1795796032675,2,326,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
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
INSERT INTO "tombstones" VALUES('','apr_5f23c3f990d4ead8123fd6dc1c98a3a5','acmeada','gone','support','refund','','unknown','ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001',NULL,1,'acme/ben','http',1795796032623,1795796032776,1795796032784);
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
INSERT INTO "usage_days" VALUES('','acme',20784,'acmeada','ada','support','unknown','1',12,0,0,0,0,0,0,0,0);
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
CREATE INDEX approvals_unsettled ON approvals (tenant, state, principal, seq)
    WHERE state IN ('claimed', 'passed', 'given_back', 'unknown');
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox',32);
INSERT INTO "sqlite_sequence" VALUES('deliveries',2);
COMMIT;
