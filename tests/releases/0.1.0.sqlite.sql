-- What a store of 0.1.0 looks like: made by tests/releases/fixture.py, and never changed.
PRAGMA application_id = 1095190356;
PRAGMA user_version = 24;
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
INSERT INTO "approval_events" VALUES('',0,1,1795843220906,'keyed','','','','','','','{"key":"427d61b2cc43"}','','8ed54d56ab3947388e2fb075fed31ebc058b8cd9538c22f06f623d42bf855d2a','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,2,1795843221134,'deputy_named','acmeben','','','','ben','http','{"absent":"ben","deputy":"dep_6f506ee2c3e9a03ceea1444f9d16f491","person":"ben","roles":["finance"],"since":1795843221134,"to":"dan","until":1799539200000}','8ed54d56ab3947388e2fb075fed31ebc058b8cd9538c22f06f623d42bf855d2a','5eb627a3cfa2fab38395c8827be39f0b8502d9cabc4991c751248a21a554b8d7','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',0,3,1795843221191,'frozen','','','','','olga','operator','{"agent":null,"encrypted_reason":"2af1ab908a1d3ee2.xVPDhbglv9kh0intLqf1V2PSMuOf569McGJJkrOeJ32/v2I606AY08Cx8PqeFA==","tenant":null,"tool":"wire"}','5eb627a3cfa2fab38395c8827be39f0b8502d9cabc4991c751248a21a554b8d7','e85c9d4f87f1c0f801042215fbe49b1bd0ab97780ce4945e4d1bd136502fd17e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686441891029424,1,1795843220949,'asked','acmeada','expired','apr_b1ac02b6aadf57a3effe530e4d73942f','run_c8492d4a52960ce4','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":1795843220950,"record":"9175acfe4b3051c4042397caea67640254157504de76e7bea3c6e5e7baebf96c","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','17539e4f5c8ca09fdd14976edf4afdd0398a4bde32b617e1aa02dc8a512d9504','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686441891029424,2,1795843220950,'expired','acmeada','expired','apr_b1ac02b6aadf57a3effe530e4d73942f','','','','{"record":"c482b4daf2d4920cc38c5631fe43aa96da03a97141cb1b3e9e09cb60399ef510"}','17539e4f5c8ca09fdd14976edf4afdd0398a4bde32b617e1aa02dc8a512d9504','ee38353749c01b9fe4fcc38dbe17e1f4e12004fa96549fe33d88800d658142b3','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686441891029424,3,1795843220953,'shown','acmeada','expired','apr_b1ac02b6aadf57a3effe530e4d73942f','run_c8492d4a52960ce4','ada','interrupt','{}','ee38353749c01b9fe4fcc38dbe17e1f4e12004fa96549fe33d88800d658142b3','ebdf412221be1d6ac77f9592e0005e4a3d3ffc23bacdc8b000930ecb566d16b2','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442136557419,1,1795843221069,'asked','acmeada','done','apr_b253105cd1c01cf5869cfffe35fc64e1','run_02f24e887d85d83d','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"ff56c4c74e854c07bde18d0dc81f78ba222932d8c3fa1881249fd369f7c43c7d","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','5571fd5136cddc80c530768cb2d24ce31aa19fafc8c88d0e1fc63a4dba3fe760','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442136557419,2,1795843221069,'shown','acmeada','done','apr_b253105cd1c01cf5869cfffe35fc64e1','run_02f24e887d85d83d','ada','interrupt','{"record":"ff56c4c74e854c07bde18d0dc81f78ba222932d8c3fa1881249fd369f7c43c7d"}','5571fd5136cddc80c530768cb2d24ce31aa19fafc8c88d0e1fc63a4dba3fe760','74d3306bc365ca577d258fc1d49b605629776db3fe295d994aadf26ee5341847','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442136557419,3,1795843221087,'approved','acmeada','done','apr_b253105cd1c01cf5869cfffe35fc64e1','decide_c1445a094251fa9f3ece4d1009769423','ben','http','{"address":"127.0.0.1","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","encrypted_reason":"3412ef65d7eff7bc.lFWOIc97tclXJz1S4x5WTlOZhfOy3cJ9kVuhU/1jvUv1a0rl1A==","person":"ben","record":"f37d518aac6ae5e45fd94e1101c43ae5553ff4116f40007475440d62ffab029e"}','74d3306bc365ca577d258fc1d49b605629776db3fe295d994aadf26ee5341847','ab94937408f35dec05704a5ed01460535417386c7e8b6018c14c4682e128e31e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442136557419,4,1795843221087,'claimed','acmeada','done','apr_b253105cd1c01cf5869cfffe35fc64e1','decide_c1445a094251fa9f3ece4d1009769423','','','{"record":"f37d518aac6ae5e45fd94e1101c43ae5553ff4116f40007475440d62ffab029e"}','ab94937408f35dec05704a5ed01460535417386c7e8b6018c14c4682e128e31e','bd261e4d308b8c858737ed35434b2f9d0392c02e8d22febf6a656b1b951d46be','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442136557419,5,1795843221109,'done','acmeada','done','apr_b253105cd1c01cf5869cfffe35fc64e1','','','','{"output":"fed1ce9f9259663d94839735b4de9d70c4f38201af6a980d5e53cfecfae97466","record":"0804718653d642d905a3774794e96c49f2c7a29196a69b126d4958309fce23f2"}','bd261e4d308b8c858737ed35434b2f9d0392c02e8d22febf6a656b1b951d46be','e4ab636f4e7b12cc19c1aa31e06936eace2bbc483c57ddb7de030c3ec4f8ef79','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442223004789,1,1795843221113,'asked','acmeada','rejected','apr_0146f6fa4c8e15361ba99d957e91ec1a','run_916429c7b574f6f9','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"0c94e76e297d4487f088b5dca270541df35f526f56fb7f1fd474cb83a6f736f1","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','b56d2a230cb3e6bd4f20410e8f5ba88e990109f7339f23b971d4b57fb81be8fe','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442223004789,2,1795843221113,'shown','acmeada','rejected','apr_0146f6fa4c8e15361ba99d957e91ec1a','run_916429c7b574f6f9','ada','interrupt','{"record":"0c94e76e297d4487f088b5dca270541df35f526f56fb7f1fd474cb83a6f736f1"}','b56d2a230cb3e6bd4f20410e8f5ba88e990109f7339f23b971d4b57fb81be8fe','82ae6c2f1ba5a3bc2aca6f29d8f1e81fc1f6ac217465f73a59f715b36d856d8d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442223004789,3,1795843221116,'rejected','acmeada','rejected','apr_0146f6fa4c8e15361ba99d957e91ec1a','decide_b025ac53ecc5efac874025bec9aaaecf','ben','http','{"address":"127.0.0.1","encrypted_reason":"3412ef65d7eff7bc.zatHK9eB4ffRXJWoGRGMiPmTdTivkWaZxV8FDzdYaSf0hmtK","output":"b95eede6e05c2788ccd7988f8d3e150b441a563641a2f8474a54caebd32e9800","person":"ben","record":"5b19954ab3a773f8ed4e00395a50cb5ec502d10abf42b31010e84aaf10627645"}','82ae6c2f1ba5a3bc2aca6f29d8f1e81fc1f6ac217465f73a59f715b36d856d8d','71ab4d03cc60fbed14b9111757c41369982e2225ceb5a4918dec3243e23ec0a6','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442236693394,1,1795843221119,'asked','acmeada','waits','apr_24ce03aa5e9115dcec66bb2ef95b33a0','run_0e1e2b97084206f8','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"06056a7c85c869e75343ec5ee766f9c2af1a9422ccd97847d1b805ad59be2dcd","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','02b0586f32069ed2aa35c1c17266477a90ff8a5586b0fbc8bd4e389b323bf98d','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442236693394,2,1795843221119,'shown','acmeada','waits','apr_24ce03aa5e9115dcec66bb2ef95b33a0','run_0e1e2b97084206f8','ada','interrupt','{"record":"06056a7c85c869e75343ec5ee766f9c2af1a9422ccd97847d1b805ad59be2dcd"}','02b0586f32069ed2aa35c1c17266477a90ff8a5586b0fbc8bd4e389b323bf98d','0ec6e7c63f5ce26fa1bef9affae264d78a668d9e691c40ae4f8f89043f20d720','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442244360323,1,1795843221123,'asked','acmeada','handed on','apr_7a32c676bb2e77b45999e85af18a4d94','run_454ae4cf4f3dc4ed','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"d13038318bc16971d3c637ea5397542e70060d208d2bf008a32957a6c5090393","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','0b852b06166fc9498c846de7690e1bdc24f29daa3e8c72308a91fce4341d8f16','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442244360323,2,1795843221123,'shown','acmeada','handed on','apr_7a32c676bb2e77b45999e85af18a4d94','run_454ae4cf4f3dc4ed','ada','interrupt','{"record":"d13038318bc16971d3c637ea5397542e70060d208d2bf008a32957a6c5090393"}','0b852b06166fc9498c846de7690e1bdc24f29daa3e8c72308a91fce4341d8f16','4c38d7e98d54dc434e99b63b05cdcdceb17fbe035bda2c098a3c18b4907cbb25','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442244360323,3,1795843221132,'handed_to','acmeada','handed on','apr_7a32c676bb2e77b45999e85af18a4d94','','ben','http','{"record":"11b5daa7860895da81647d8df730c68348ee979022b7d773563af013a3aa2fe1","to":["dan"]}','4c38d7e98d54dc434e99b63b05cdcdceb17fbe035bda2c098a3c18b4907cbb25','35c0b7ba5d325347d435ed00514ae7d09c70b2a77c11eb8cfecbd08b1f0aaa83','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442273383712,1,1795843221138,'asked','acmeada','claimed','apr_91a95f463937225991fd33839d20f1e6','run_40b280fd61900e15','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"d23609e682bde8e4aab3f666dfb4d82fd5286c60619be556cb508ff88bbf3ef7","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','b0f262c1eed9ddf4e3eff838bcd87a84178e85e826212392bb83179dbd571126','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442273383712,2,1795843221138,'shown','acmeada','claimed','apr_91a95f463937225991fd33839d20f1e6','run_40b280fd61900e15','ada','interrupt','{"record":"d23609e682bde8e4aab3f666dfb4d82fd5286c60619be556cb508ff88bbf3ef7"}','b0f262c1eed9ddf4e3eff838bcd87a84178e85e826212392bb83179dbd571126','3519cbd0a07ec91684308037f9cfe011de4b03bcfdda0b98634d44ec47cc93e9','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442273383712,3,1795843221170,'approved','acmeada','claimed','apr_91a95f463937225991fd33839d20f1e6','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"4a287275b8e5449e9e318ba798fdc4a72596eb4de55d2f9a7c7bddf7e7b43086"}','3519cbd0a07ec91684308037f9cfe011de4b03bcfdda0b98634d44ec47cc93e9','cc53ee63f82c6c4a2ff41e932e5a675dfc51e5d22759558ae2f0b5e3ea34343b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442273383712,4,1795843221170,'claimed','acmeada','claimed','apr_91a95f463937225991fd33839d20f1e6','','','','{"record":"4a287275b8e5449e9e318ba798fdc4a72596eb4de55d2f9a7c7bddf7e7b43086"}','cc53ee63f82c6c4a2ff41e932e5a675dfc51e5d22759558ae2f0b5e3ea34343b','fa0e1e7e3d8af50325b6dda6c11c1e156db799334370920e11b49171e5a7206c','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442283467094,1,1795843221143,'asked','acmeada','failed','apr_3e8f5246aab0980bef5e3fb6feedeff1','run_6ee9f452fb1a5489','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"974a898aaf557204a96d3430a17a0dfddaf1caf0cba7169455791cd56b15b506","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','5eb96c4298bedc209bf5529a1b54265dcd0fcd2df88b4f0a4ad4f9a8b8215556','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442283467094,2,1795843221143,'shown','acmeada','failed','apr_3e8f5246aab0980bef5e3fb6feedeff1','run_6ee9f452fb1a5489','ada','interrupt','{"record":"974a898aaf557204a96d3430a17a0dfddaf1caf0cba7169455791cd56b15b506"}','5eb96c4298bedc209bf5529a1b54265dcd0fcd2df88b4f0a4ad4f9a8b8215556','f9259c887840d12b25ba5f908449dd39c1b895600e1864e13939ac0e16ce6553','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442283467094,3,1795843221171,'approved','acmeada','failed','apr_3e8f5246aab0980bef5e3fb6feedeff1','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"164d375148ddc31b9daf5f4d5582a6d2747d7f59be0429ba6dcf58cd89d22836"}','f9259c887840d12b25ba5f908449dd39c1b895600e1864e13939ac0e16ce6553','1a1184f9d3ccabda293c315634917c8a0ae9757e54936df399d984a21186471e','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442283467094,4,1795843221171,'claimed','acmeada','failed','apr_3e8f5246aab0980bef5e3fb6feedeff1','','','','{"record":"164d375148ddc31b9daf5f4d5582a6d2747d7f59be0429ba6dcf58cd89d22836"}','1a1184f9d3ccabda293c315634917c8a0ae9757e54936df399d984a21186471e','5231ad44893d54d0cfe746954cea18950df154b9192a626cc419a199752f9b18','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442283467094,5,1795843221172,'failed','acmeada','failed','apr_3e8f5246aab0980bef5e3fb6feedeff1','','','','{"output":"bfa582b0f7cb9ee8554aa40999ecfa6dcf55394dcbfbba00d5d06ab4c1866561","record":"c11ddd86e5d591463dd1c37942d88b0edbf98b15631ee6cbc4cf7a7e12b580c6"}','5231ad44893d54d0cfe746954cea18950df154b9192a626cc419a199752f9b18','71633a582bd2ade53dd1d11b55854a4eab82c9af7a1406d2591ad6c01b5bb0df','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442289956486,1,1795843221147,'asked','acmeada','unknown','apr_7cda861ab8880d1307bab5787780869f','run_3cbba2217534d6a5','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"6f596633c8b2cfbc024b0a21e11eba1348b7327fb2ddc1979c32a3c34ef9b416","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','d52d915367de655a8f479c7c83118d2aebae4d1710b9d5239c2117d3603e31ee','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442289956486,2,1795843221147,'shown','acmeada','unknown','apr_7cda861ab8880d1307bab5787780869f','run_3cbba2217534d6a5','ada','interrupt','{"record":"6f596633c8b2cfbc024b0a21e11eba1348b7327fb2ddc1979c32a3c34ef9b416"}','d52d915367de655a8f479c7c83118d2aebae4d1710b9d5239c2117d3603e31ee','00cb1d21e056d971c54a79873b740ba7ebc2a79023ccdb503da971cb172d9358','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442289956486,3,1795843221173,'approved','acmeada','unknown','apr_7cda861ab8880d1307bab5787780869f','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"0e16ab26d07bc59716c58565f6496f2a4c46af907010ce9e0afa1edace902054"}','00cb1d21e056d971c54a79873b740ba7ebc2a79023ccdb503da971cb172d9358','4725979ba6827fb5a0e07ac27391a81aabc676aa1ee4bc4603f3c9520ea30414','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442289956486,4,1795843221173,'claimed','acmeada','unknown','apr_7cda861ab8880d1307bab5787780869f','','','','{"record":"0e16ab26d07bc59716c58565f6496f2a4c46af907010ce9e0afa1edace902054"}','4725979ba6827fb5a0e07ac27391a81aabc676aa1ee4bc4603f3c9520ea30414','848b67c8a74926a25a11a29598212fb5bda502f0307f137f06a1192ae7641a1b','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442289956486,5,1795843221173,'unknown','acmeada','unknown','apr_7cda861ab8880d1307bab5787780869f','','','','{"output":"acdd720c83aebd3cedc7962b3bf994fbca8fd20493cf0fe54340ea4903676440","record":"95f7fc24b68ffb7a2b8701d425140f437594d50608bba18623c0d069eb1ad361"}','848b67c8a74926a25a11a29598212fb5bda502f0307f137f06a1192ae7641a1b','5f8b708a2fcb73d7820634b0ff0d20d2a1772a82813cddf49112971db6fd93b6','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442296854772,1,1795843221149,'asked','acmeada','superseded','apr_50b984bd5a7fefd594d50ace05c5aa5f','run_1972f11419fd38b9','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"a9bbf1692286e967ea4ec918b96eeb40cba738c747847abeb868d89adbf0bf48","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','a22eb0b7e3b5a1a7668c22b2f67df02552a64ed7124140d388fed96bbf189ccd','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442296854772,2,1795843221149,'shown','acmeada','superseded','apr_50b984bd5a7fefd594d50ace05c5aa5f','run_1972f11419fd38b9','ada','interrupt','{"record":"a9bbf1692286e967ea4ec918b96eeb40cba738c747847abeb868d89adbf0bf48"}','a22eb0b7e3b5a1a7668c22b2f67df02552a64ed7124140d388fed96bbf189ccd','cefb5e4ccb4639a803f8821e5bc2daee120714f9d6d54165cfc4d500a7004cd4','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442296854772,3,1795843221174,'superseded','acmeada','superseded','apr_50b984bd5a7fefd594d50ace05c5aa5f','','','','{"record":"e8811cc6225050b7b016d1ee56f447e59cb53eba7f0de5d9d509ec5e5cff963a"}','cefb5e4ccb4639a803f8821e5bc2daee120714f9d6d54165cfc4d500a7004cd4','e32c4e7b5959d0ba804363ebace6a915beba84bbfe316725224ad9b842e364dc','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442303378373,1,1795843221153,'asked','acmeada','cancelled','apr_f0a05c4d3b6982962a724e481d59ebf0','run_8d49a9072b822d3a','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"143c9bfad40e47d5379681c03879194e6e3a3545a64bd27f5fada54c80e15826","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','88f83d4649a551c06b40eea4afb10537911bfcdca3977b994a05a752d41fc6e0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442303378373,2,1795843221153,'shown','acmeada','cancelled','apr_f0a05c4d3b6982962a724e481d59ebf0','run_8d49a9072b822d3a','ada','interrupt','{"record":"143c9bfad40e47d5379681c03879194e6e3a3545a64bd27f5fada54c80e15826"}','88f83d4649a551c06b40eea4afb10537911bfcdca3977b994a05a752d41fc6e0','acfda0e0a2de833c1bdd43ffb2100f2614a18c2219a41991925eb99136e64096','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442303378373,3,1795843221176,'cancelled','acmeada','cancelled','apr_f0a05c4d3b6982962a724e481d59ebf0','','','','{"record":"8d375e708209c03e3a70ec8a0143e0789e4203d5b13de8e6c404083c23345bcc"}','acfda0e0a2de833c1bdd43ffb2100f2614a18c2219a41991925eb99136e64096','93f58fa768f3a1779b0578260a90f53815807a247310214351b6266e1b0168c7','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442308908044,1,1795843221155,'asked','acmeada','gone','apr_ec6f54f65b047328d93224bae7dcdbd2','run_ea23bc9ae3bc8660','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"e4176dca33627d80439ec161c0ac227a7e1a94881c84837562efedadb10e8aee","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','c56e89416ea8c732f0b0bad677dbb5cc546da4a5d57542e1be2091eebdcacec8','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442308908044,2,1795843221155,'shown','acmeada','gone','apr_ec6f54f65b047328d93224bae7dcdbd2','run_ea23bc9ae3bc8660','ada','interrupt','{"record":"e4176dca33627d80439ec161c0ac227a7e1a94881c84837562efedadb10e8aee"}','c56e89416ea8c732f0b0bad677dbb5cc546da4a5d57542e1be2091eebdcacec8','19fd5f4cd74104d86655ab88f1c0700b1f41f88c8c8f0fd820cef5d0013267e0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442308908044,3,1795843221181,'approved','acmeada','gone','apr_ec6f54f65b047328d93224bae7dcdbd2','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"4064d37c61987ba81322100a5ba10efef29367133e1024c207bf31262caf1dfc"}','19fd5f4cd74104d86655ab88f1c0700b1f41f88c8c8f0fd820cef5d0013267e0','35122f7515792d214f9ca29071bdbba47301b990f1beccbdbfb9f203b1778b99','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442308908044,4,1795843221181,'claimed','acmeada','gone','apr_ec6f54f65b047328d93224bae7dcdbd2','','','','{"record":"4064d37c61987ba81322100a5ba10efef29367133e1024c207bf31262caf1dfc"}','35122f7515792d214f9ca29071bdbba47301b990f1beccbdbfb9f203b1778b99','81d2cbb36d7874e02a8c76cd09bb7da0e0bce9841d643701d427aeca5dade905','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442308908044,5,1795843221182,'deleted','acmeada','gone','apr_ec6f54f65b047328d93224bae7dcdbd2','deletes','','','{"state":"claimed"}','81d2cbb36d7874e02a8c76cd09bb7da0e0bce9841d643701d427aeca5dade905','c3f1e4dd2688c75d26748bfbfb1edafda791fa29dfd9fea987f7ae9f501dc588','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442316580187,1,1795843221159,'asked','acmeada','counted','apr_1c4ee037c0d5aa74d82598f39add61f3','run_7c13670a8fb10418','','','{"agent":"support","arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","call_id":"call_1","expires_at":null,"record":"651f15d19d2ea8259167d389c65e8415cc999a2a49aa40b214f8173533431518","runner":"here","schema":"0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b","source":"","tool":"refund"}','','e895a547e03ba10e25da8af50c04032124bf133d1ff2f7677dbea440b0db2d16','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442316580187,2,1795843221159,'shown','acmeada','counted','apr_1c4ee037c0d5aa74d82598f39add61f3','run_7c13670a8fb10418','ada','interrupt','{"record":"651f15d19d2ea8259167d389c65e8415cc999a2a49aa40b214f8173533431518"}','e895a547e03ba10e25da8af50c04032124bf133d1ff2f7677dbea440b0db2d16','bb24b6e200d7614a9fbcb51e5cfdc69d89532f9fe1caf3e41c40b99380ced6dd','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442316580187,3,1795843221185,'approved','acmeada','counted','apr_1c4ee037c0d5aa74d82598f39add61f3','','acme/ben','http','{"arguments":"ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001","record":"9bc454da5e0ac78fc7026528c2a459f559494a4e7a40379aeaae4ce44aba093a"}','bb24b6e200d7614a9fbcb51e5cfdc69d89532f9fe1caf3e41c40b99380ced6dd','a855b59600cc85246d9f01412406b09a44a5e33ae11d9f24a11c545d889e3c71','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442316580187,4,1795843221185,'claimed','acmeada','counted','apr_1c4ee037c0d5aa74d82598f39add61f3','','','','{"record":"9bc454da5e0ac78fc7026528c2a459f559494a4e7a40379aeaae4ce44aba093a"}','a855b59600cc85246d9f01412406b09a44a5e33ae11d9f24a11c545d889e3c71','0fb78b21a97165c03c9fd91ce129f2ba4ce279e5f56610300c83730cd0e932df','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442316580187,5,1795843221186,'unknown','acmeada','counted','apr_1c4ee037c0d5aa74d82598f39add61f3','','','','{"output":"03982e2adb2925b16d9a1a591a0665a8db33153c21d9fc1895a016da460d35cd","record":"8431e1a0e972339e2dd8cab2e3a9d1ec4b724325bc6ecb13551d5c0f56777e23"}','0fb78b21a97165c03c9fd91ce129f2ba4ce279e5f56610300c83730cd0e932df','78a0cb8fd55b7fc3a4e44ed391ce83c855fdd8810090c065120bde8e7909dd23','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442336442370,1,1795843221168,'asked','acmeada','passed','call passed','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call passed","expires_at":null,"record":"e7d1738cf9d804e432e0c2911315fadc64f4c66558e3914ed5bf6d8c8eb92fa3","runner":"provider","schema":null,"source":"","tool":"refund"}','','f181275ff609f6bca0461cc7299ea07bded83b2e97770a8623d3ccbdb076c501','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442336442370,2,1795843221176,'approved','acmeada','passed','call passed','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"1396e79d84863139835a7d2ade0200165120f5c8a1f40c118c17e31de94cea5d"}','f181275ff609f6bca0461cc7299ea07bded83b2e97770a8623d3ccbdb076c501','4414387919400dc4b373d3de230f30ef8a593ef9a31973cc9031cb827252c1ac','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442336442370,3,1795843221176,'claimed','acmeada','passed','call passed','','','','{"record":"1396e79d84863139835a7d2ade0200165120f5c8a1f40c118c17e31de94cea5d"}','4414387919400dc4b373d3de230f30ef8a593ef9a31973cc9031cb827252c1ac','405cc46115285c4da60be1dd0639059173d15be28d37ee221387f90fadedfa52','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442336442370,4,1795843221177,'passed','acmeada','passed','call passed','','','','{"record":"830c305adfdb34312699d0bda6cf0b7c7ccbfc06654e7bd6deb88d2870d289fd"}','405cc46115285c4da60be1dd0639059173d15be28d37ee221387f90fadedfa52','9a73b30d55ffb1c36f1998a5013fc6c7d9504a0405057d742f2584fa2c2bdafb','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442338981229,1,1795843221169,'asked','acmeada','given back','call given back','r1','','','{"agent":"support","arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","call_id":"call-call given back","expires_at":null,"record":"9bc2a6ae92dafe827ce19afa3f5ea721cd40e872455b6905355eb3f980e92f09","runner":"provider","schema":null,"source":"","tool":"refund"}','','febd8b17fcec1c37d13ac2306cfaeab7604e72c2fb361de1b540ec7c787128f0','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442338981229,2,1795843221178,'approved','acmeada','given back','call given back','','acme/ben','http','{"arguments":"0b8895843d28a813c0a0552270feec179fa3d49d5ffca9ed450c81983c60da61","record":"6fbf972f8bade63b1314eca2227e9a388fdd725c98fbd0519162c44200cc5303"}','febd8b17fcec1c37d13ac2306cfaeab7604e72c2fb361de1b540ec7c787128f0','3dfb54b190987817d39af5e47f1245e3b66a8662efd914b18bd05ec3ff235822','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442338981229,3,1795843221178,'claimed','acmeada','given back','call given back','','','','{"record":"6fbf972f8bade63b1314eca2227e9a388fdd725c98fbd0519162c44200cc5303"}','3dfb54b190987817d39af5e47f1245e3b66a8662efd914b18bd05ec3ff235822','bdb2f051310561aa5cd399c908e94648a35c7dba5b9c5676aafe5cc285c0dc82','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442338981229,4,1795843221178,'passed','acmeada','given back','call given back','','','','{"record":"df8baff9b509faf65f4788c3aa43a40652cf4061dc84a050c2b7dfffc8ddbcf3"}','bdb2f051310561aa5cd399c908e94648a35c7dba5b9c5676aafe5cc285c0dc82','9f9dd6bb806c6f1e84fa461fde1cdbdc5921bac55582e980294f959bf983dd23','427d61b2cc43','');
INSERT INTO "approval_events" VALUES('',3591686442338981229,5,1795843221180,'given_back','acmeada','given back','call given back','','','','{"record":"27352eb8ddc282a1257204f4aa3ea0ced3dcdbb86764265204b7a0f50e487780"}','9f9dd6bb806c6f1e84fa461fde1cdbdc5921bac55582e980294f959bf983dd23','e1c7096eb130c7dedf49d68a3cf3ca62f154b1f832a8fb672f6f471914578a42','427d61b2cc43','');
CREATE TABLE approval_steps (
    tenant TEXT NOT NULL DEFAULT '',
    approval TEXT NOT NULL,
    kind TEXT NOT NULL,
    after INTEGER NOT NULL,
    who TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval, kind, after)
) WITHOUT ROWID;
INSERT INTO "approval_steps" VALUES('','apr_1c4ee037c0d5aa74d82598f39add61f3','reminder',100000000000000,'{"to":""}',100000000000000);
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
INSERT INTO "approvals" VALUES(1,'','apr_b1ac02b6aadf57a3effe530e4d73942f',3591686441891029424,'acmeada','expired','support','run_c8492d4a52960ce4','r','5195bb0ef44bcf176503276ff4a30048','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843220949,1795843220950,'expired',NULL,1795843220950,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(2,'','apr_b253105cd1c01cf5869cfffe35fc64e1',3591686442136557419,'acmeada','done','support','run_02f24e887d85d83d','r','d0c86f1c021ffbcccbe283810162803d','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221069,NULL,'done','{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795843221087,0,'','{"content":"refunded"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"ben","reason":"as agreed","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]},"at":1795843221087,"of":"apr_b253105cd1c01cf5869cfffe35fc64e1"}]}','');
INSERT INTO "approvals" VALUES(3,'','apr_0146f6fa4c8e15361ba99d957e91ec1a',3591686442223004789,'acmeada','rejected','support','run_916429c7b574f6f9','r','c54397cb31b1b22061e60be9a4f22567','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221113,NULL,'rejected','{"approved":false,"by":"ben","reason":"too much","way":"http","person":"ben","login":{"address":"127.0.0.1"},"roles":["finance"]}',1795843221116,0,'','{"content":"{\"status\":\"rejected\",\"message\":\"The user rejected this call. It was not executed.\",\"reason\":\"too much\"}","is_error":true}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(4,'','apr_24ce03aa5e9115dcec66bb2ef95b33a0',3591686442236693394,'acmeada','waits','support','run_0e1e2b97084206f8','r','c111fa96652667b68180b934d30ccdea','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221119,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(5,'','apr_7a32c676bb2e77b45999e85af18a4d94',3591686442244360323,'acmeada','handed on','support','run_454ae4cf4f3dc4ed','r','c00283e7578b8f6d3b496b3e03ea7891','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221123,NULL,'pending',NULL,NULL,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"handed_to":"dan","handed_by":"ben"}','');
INSERT INTO "approvals" VALUES(6,'','apr_91a95f463937225991fd33839d20f1e6',3591686442273383712,'acmeada','claimed','support','run_40b280fd61900e15','r','fccc059189f5ef8dc0f5fd362c1cdbb2','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221138,NULL,'claimed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221170,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795843221170,"of":"apr_91a95f463937225991fd33839d20f1e6"}]}','');
INSERT INTO "approvals" VALUES(7,'','apr_3e8f5246aab0980bef5e3fb6feedeff1',3591686442283467094,'acmeada','failed','support','run_6ee9f452fb1a5489','r','449f1eddf9de4c01cc4420c8208136e5','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221143,NULL,'failed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221171,0,'','{"content":"It is failed."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795843221171,"of":"apr_3e8f5246aab0980bef5e3fb6feedeff1"}]}','');
INSERT INTO "approvals" VALUES(8,'','apr_7cda861ab8880d1307bab5787780869f',3591686442289956486,'acmeada','unknown','support','run_3cbba2217534d6a5','r','8c429e263e98d2c63083eedf0b293266','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221147,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221173,0,'','{"content":"It is unknown."}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795843221173,"of":"apr_7cda861ab8880d1307bab5787780869f"}]}','');
INSERT INTO "approvals" VALUES(9,'','apr_50b984bd5a7fefd594d50ace05c5aa5f',3591686442296854772,'acmeada','superseded','support','run_1972f11419fd38b9','r','e21953ade0e28749bb16f721f3d11f2b','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221149,NULL,'superseded',NULL,1795843221174,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(10,'','apr_f0a05c4d3b6982962a724e481d59ebf0',3591686442303378373,'acmeada','cancelled','support','run_8d49a9072b822d3a','r','a6d80f3cc73a1cb6dc07cf5b0c1d47e8','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221153,NULL,'cancelled',NULL,1795843221176,0,'',NULL,'{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"]}','');
INSERT INTO "approvals" VALUES(12,'','apr_1c4ee037c0d5aa74d82598f39add61f3',3591686442316580187,'acmeada','counted','support','run_7c13670a8fb10418','r','2f09794478047598db10cb7725236636','call_1','refund','','0fcd755df6d1491fe24b72ce77d58063c57926d3b67439055274e41db1409a1b','{"amount":20,"order_id":"A1"}','here','interrupt',NULL,NULL,'[]',NULL,1795843221159,NULL,'unknown','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221185,0,'','{"content":"nobody knows"}','{"id":"ada","person":"ada"}','{"approvers":"finance","decisions":["approve","edit","reject"],"said":[{"decision":{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]},"at":1795843221185,"of":"apr_1c4ee037c0d5aa74d82598f39add61f3"}]}','');
INSERT INTO "approvals" VALUES(13,'','call passed',3591686442336442370,'acmeada','passed','support','r1','','turn','call-call passed','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795843221168,NULL,'passed','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221176,0,'',NULL,NULL,NULL,'');
INSERT INTO "approvals" VALUES(14,'','call given back',3591686442338981229,'acmeada','given back','support','r1','','turn','call-call given back','refund','',NULL,'{"amount":50}','provider','interrupt',NULL,NULL,'[]',NULL,1795843221169,NULL,'given_back','{"approved":true,"by":"acme/ben","way":"http","roles":["finance"]}',1795843221178,0,'',NULL,NULL,NULL,'');
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
INSERT INTO "clock" VALUES(1,'91de77ae-ab03-4501-b375-1a3dc57a1f07',1795782110463,1795843221194);
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
INSERT INTO "counted_calls" VALUES('','owner','acmeada','refund',1795843221185,'apr_1c4ee037c0d5aa74d82598f39add61f3','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','principal','acmeada','refund',1795843221185,'apr_1c4ee037c0d5aa74d82598f39add61f3','{"amount":"20"}');
INSERT INTO "counted_calls" VALUES('','tenant','acme','refund',1795843221185,'apr_1c4ee037c0d5aa74d82598f39add61f3','{"amount":"20"}');
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
INSERT INTO "deliveries" VALUES(1,'','desk','waits','apr_1c4ee037c0d5aa74d82598f39add61f3','{}',0,1795843221192,1795843221192,1795929621192,0,'');
INSERT INTO "deliveries" VALUES(2,'','desk','dead','apr_1c4ee037c0d5aa74d82598f39add61f3','{}',1,1795843221192,1795843221193,1795929621192,1,'away');
CREATE TABLE delivery_workers (
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    worker TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, endpoint)
) WITHOUT ROWID;
INSERT INTO "delivery_workers" VALUES('','desk','server',1795843251193);
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
INSERT INTO "deputies" VALUES('','dep_6f506ee2c3e9a03ceea1444f9d16f491','acme','ben','dan',1795843221134,1799539200000,'{"id":"dep_6f506ee2c3e9a03ceea1444f9d16f491","tenant":"acme","absent":"ben","deputy":"dan","since":1795843221134,"until":1799539200000,"person":"ben","roles":["finance"],"at":1795843221134}');
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
INSERT INTO "freezes" VALUES('','["wire",null,null]','wire',NULL,NULL,'',1795843221191);
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
INSERT INTO "grants" VALUES('','grant','acme','acmeada','acmeben',2795843221185,'{"id":"grant","owner":"acme\u001fada","agent":"support","tool":"refund","scope":"thread","limits":{"duration":1000000000000},"approval_id":"apr_1c4ee037c0d5aa74d82598f39add61f3","thread_id":"counted","giver":"ben","at":1795843221185}');
CREATE TABLE "journal" (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, seq),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);
INSERT INTO "journal" VALUES('',3591686441891029424,0,2,X'5B7B2274797065223A2275736572222C226964223A223731646163623033656532613762323938623336383837366232336134623335222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223531393562623065663434626366313736353033323736666634613330303438222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223832366230336632656566366633646130616161376165636430303864643062222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442128733757,0,2,X'5B7B2274797065223A2275736572222C226964223A223664363736386537313939323538373132393962343535643034303631356334222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A2268656C6C6F227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226430633566613031386161353436646331626331313137653139333339636262222C227061727473223A5B7B2274797065223A2274657874222C226964223A223735616134643933666265633738653733306662346662386165396636616139222C2274657874223A226F6B227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442136557419,0,2,X'5B7B2274797065223A2275736572222C226964223A226538323531623034303063613065663365323064633433346364356531396361222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226430633836663163303231666662636363626532383338313031363238303364222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223735313938323766336531376437613762383364316433663733323133303437222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442223004789,0,2,X'5B7B2274797065223A2275736572222C226964223A223931616361653432653962623832326661353465666239333133313433613133222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226335343339376362333162316232323036316536306265396134663232353637222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223566303935633730623438666137393932643338656530313463333763373831222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442236693394,0,2,X'5B7B2274797065223A2275736572222C226964223A226565633134306561333836336539323935303936636633626238666663396366222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226331313166613936363532363637623638313830623933346433306363646561222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223734393165613437353035616335333030623031346166623961653232326432222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442244360323,0,2,X'5B7B2274797065223A2275736572222C226964223A226462643966336534386536376139646433633634363161613732333339633939222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226330303238336537353738623866366433623439366233653033656137383931222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223632386334366363613066616565643064316135346230616137383331336364222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442273383712,0,2,X'5B7B2274797065223A2275736572222C226964223A223939626663616230373566333930623163613336383262623065326264623032222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226663636330353931383966356566386463306635666433363263316364626232222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223963373464323733303934666434663936663137653162353261316637636464222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442283467094,0,2,X'5B7B2274797065223A2275736572222C226964223A223736633735333366626163653865646263313932343330393833303732656362222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223434396631656464663964653463303163633434323063383230383133366535222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226164636437363661376436633432383166353037343231383761663964623139222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442289956486,0,2,X'5B7B2274797065223A2275736572222C226964223A223062346639373035393335326634653366373737363238633836373730303166222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223863343239653236336539386432633633303833656564663062323933323636222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226636363136643230306538326365373132623161376530656566306536653264222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442296854772,0,2,X'5B7B2274797065223A2275736572222C226964223A223437306436653030623162623562623933666435323764643763373661663561222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226532313935336164653065323837343962623136663732316633643131663262222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226435316231333961363438386463353036663433623663366164373362393331222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442303378373,0,2,X'5B7B2274797065223A2275736572222C226964223A223436613235343636386165356461643932663330616332356566643761376365222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A226136643830663363633733613163623664633037636635623063316434376538222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A226134626334643964663733383439653436356434313761623234626237346537222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442316580187,0,2,X'5B7B2274797065223A2275736572222C226964223A223738346438376338303832663264613162663434376464613462643435383665222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D2C226D696E746564223A747275657D2C7B2274797065223A227475726E222C226964223A223266303937393434373830343735393864623130636237373235323336363336222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C5F31222C22776972655F6964223A2263616C6C5F31222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C226F726465725F69645C223A205C2241315C222C205C22616D6F756E745C223A2032307D222C22706172656E745F6964223A223137353238623637663831653366343663343237333562633532636439303232222C226B696E64223A226761746564227D5D2C226F726967696E223A22706172726F742F31227D5D');
INSERT INTO "journal" VALUES('',3591686442336442370,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20706173736564222C22776972655F6964223A2263616C6C2D63616C6C20706173736564222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
INSERT INTO "journal" VALUES('',3591686442338981229,0,2,X'5B7B2274797065223A2275736572222C226964223A22726566756E64222C22636F6E74656E74223A5B7B2274797065223A2274657874222C2274657874223A22726566756E64227D5D7D2C7B2274797065223A227475726E222C226964223A227475726E222C227061727473223A5B7B2274797065223A2263616C6C222C226964223A2263616C6C2D63616C6C20676976656E206261636B222C22776972655F6964223A2263616C6C2D63616C6C20676976656E206261636B222C226E616D65223A22726566756E64222C22617267756D656E7473223A227B5C22616D6F756E745C223A35307D222C22706172656E745F6964223A227475726E227D5D7D5D');
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
INSERT INTO "model_requests" VALUES('','102e3ecbc252619181d362a7','acme','acmeada','ada','counted','run_7c13670a8fb10418','support','unknown','1',1795843221159,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','19bdb97a9752fd54ba89dfe1','acme','acmeada','ada','handed on','run_454ae4cf4f3dc4ed','support','unknown','1',1795843221123,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','3af11716bed181b93a89caf6','acme','acmeada','ada','done','run_02f24e887d85d83d','support','unknown','1',1795843221069,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','8455584ab5f2ffb8c274762a','acme','acmeada','ada','rejected','run_916429c7b574f6f9','support','unknown','1',1795843221113,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','8da89851b102c42f48bae8e2','acme','acmeada','ada','gone','run_ea23bc9ae3bc8660','support','unknown','1',1795843221155,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','9b0ee18c66df600d6a41637c','acme','acmeada','ada','unknown','run_3cbba2217534d6a5','support','unknown','1',1795843221146,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','9e5320dd9fa3d6af7957ce08','acme','acmeada','ada','claimed','run_40b280fd61900e15','support','unknown','1',1795843221138,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','9f76ed092d3a78bec662f5e0','acme','acmeada','ada','talks','run_c58068d707be86ad','support','unknown','1',1795843221066,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','d65459884f0d91fedd5500a4','acme','acmeada','ada','superseded','run_1972f11419fd38b9','support','unknown','1',1795843221149,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','dba53994dca956b873fe2641','acme','acmeada','ada','waits','run_0e1e2b97084206f8','support','unknown','1',1795843221119,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','ecb6dfcd7100d5159b3bcf6c','acme','acmeada','ada','failed','run_6ee9f452fb1a5489','support','unknown','1',1795843221142,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "model_requests" VALUES('','f751d2d0f0f6d6f73e7793d6','acme','acmeada','ada','cancelled','run_8d49a9072b822d3a','support','unknown','1',1795843221153,0,0,'ok',NULL,NULL,NULL,NULL,NULL,NULL,'');
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
INSERT INTO "outbox" VALUES(3,'','acmeada','done','approval_pending','apr_b253105cd1c01cf5869cfffe35fc64e1','{"state":"pending"}',1795843221069);
INSERT INTO "outbox" VALUES(4,'','acmeada','done','approval_decided','apr_b253105cd1c01cf5869cfffe35fc64e1','{"state":"claimed"}',1795843221087);
INSERT INTO "outbox" VALUES(5,'','acmeada','done','approval_decided','apr_b253105cd1c01cf5869cfffe35fc64e1','{"state":"done"}',1795843221109);
INSERT INTO "outbox" VALUES(6,'','acmeada','rejected','approval_pending','apr_0146f6fa4c8e15361ba99d957e91ec1a','{"state":"pending"}',1795843221113);
INSERT INTO "outbox" VALUES(7,'','acmeada','rejected','approval_decided','apr_0146f6fa4c8e15361ba99d957e91ec1a','{"state":"rejected"}',1795843221116);
INSERT INTO "outbox" VALUES(8,'','acmeada','waits','approval_pending','apr_24ce03aa5e9115dcec66bb2ef95b33a0','{"state":"pending"}',1795843221119);
INSERT INTO "outbox" VALUES(9,'','acmeada','handed on','approval_pending','apr_7a32c676bb2e77b45999e85af18a4d94','{"state":"pending"}',1795843221123);
INSERT INTO "outbox" VALUES(10,'','acmeada','handed on','approval_notice','apr_7a32c676bb2e77b45999e85af18a4d94','{"by":"ben","state":"handed_to","to":["dan"]}',1795843221132);
INSERT INTO "outbox" VALUES(11,'','acmeben','','approval_notice','dep_6f506ee2c3e9a03ceea1444f9d16f491','{"by":"ben","since":1795843221134,"state":"deputy_named","to":["dan"],"until":1799539200000}',1795843221134);
INSERT INTO "outbox" VALUES(12,'','acmeada','claimed','approval_pending','apr_91a95f463937225991fd33839d20f1e6','{"state":"pending"}',1795843221138);
INSERT INTO "outbox" VALUES(13,'','acmeada','failed','approval_pending','apr_3e8f5246aab0980bef5e3fb6feedeff1','{"state":"pending"}',1795843221143);
INSERT INTO "outbox" VALUES(14,'','acmeada','unknown','approval_pending','apr_7cda861ab8880d1307bab5787780869f','{"state":"pending"}',1795843221147);
INSERT INTO "outbox" VALUES(15,'','acmeada','superseded','approval_pending','apr_50b984bd5a7fefd594d50ace05c5aa5f','{"state":"pending"}',1795843221149);
INSERT INTO "outbox" VALUES(16,'','acmeada','cancelled','approval_pending','apr_f0a05c4d3b6982962a724e481d59ebf0','{"state":"pending"}',1795843221153);
INSERT INTO "outbox" VALUES(17,'','acmeada','gone','approval_pending','apr_ec6f54f65b047328d93224bae7dcdbd2','{"state":"pending"}',1795843221155);
INSERT INTO "outbox" VALUES(18,'','acmeada','counted','approval_pending','apr_1c4ee037c0d5aa74d82598f39add61f3','{"state":"pending"}',1795843221159);
INSERT INTO "outbox" VALUES(19,'','acmeada','passed','approval_pending','call passed','{"state":"pending"}',1795843221168);
INSERT INTO "outbox" VALUES(20,'','acmeada','given back','approval_pending','call given back','{"state":"pending"}',1795843221169);
INSERT INTO "outbox" VALUES(21,'','acmeada','claimed','approval_decided','apr_91a95f463937225991fd33839d20f1e6','{"state":"claimed"}',1795843221170);
INSERT INTO "outbox" VALUES(22,'','acmeada','failed','approval_decided','apr_3e8f5246aab0980bef5e3fb6feedeff1','{"state":"claimed"}',1795843221171);
INSERT INTO "outbox" VALUES(23,'','acmeada','failed','approval_decided','apr_3e8f5246aab0980bef5e3fb6feedeff1','{"state":"failed"}',1795843221172);
INSERT INTO "outbox" VALUES(24,'','acmeada','unknown','approval_decided','apr_7cda861ab8880d1307bab5787780869f','{"state":"claimed"}',1795843221173);
INSERT INTO "outbox" VALUES(25,'','acmeada','unknown','approval_decided','apr_7cda861ab8880d1307bab5787780869f','{"state":"unknown"}',1795843221173);
INSERT INTO "outbox" VALUES(26,'','acmeada','superseded','approval_decided','apr_50b984bd5a7fefd594d50ace05c5aa5f','{"state":"superseded"}',1795843221174);
INSERT INTO "outbox" VALUES(27,'','acmeada','cancelled','approval_decided','apr_f0a05c4d3b6982962a724e481d59ebf0','{"state":"cancelled"}',1795843221176);
INSERT INTO "outbox" VALUES(28,'','acmeada','passed','approval_decided','call passed','{"state":"claimed"}',1795843221176);
INSERT INTO "outbox" VALUES(29,'','acmeada','given back','approval_decided','call given back','{"state":"claimed"}',1795843221178);
INSERT INTO "outbox" VALUES(30,'','acmeada','gone','approval_decided','apr_ec6f54f65b047328d93224bae7dcdbd2','{"state":"claimed"}',1795843221181);
INSERT INTO "outbox" VALUES(31,'','acmeada','gone','approval_decided','apr_ec6f54f65b047328d93224bae7dcdbd2','{"state":"deleted"}',1795843221182);
INSERT INTO "outbox" VALUES(32,'','acmeada','counted','approval_decided','apr_1c4ee037c0d5aa74d82598f39add61f3','{"state":"claimed"}',1795843221185);
INSERT INTO "outbox" VALUES(33,'','acmeada','counted','approval_decided','apr_1c4ee037c0d5aa74d82598f39add61f3','{"state":"unknown"}',1795843221186);
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
INSERT INTO "outbox_taker" VALUES('','server',1795843231194);
CREATE TABLE person_keys (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
INSERT INTO "person_keys" VALUES('','2af1ab908a1d3ee2','','olga','27cda1a04b3c34e61e56e4e675d5f3bf5c93c10449447e1cf079d13b11a8bc24');
INSERT INTO "person_keys" VALUES('','3412ef65d7eff7bc','acme','ben','96d54b330ebe761fe06cc83eb07b06d9d4cce45b907d11da7f86fb0e1d11eee1');
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
INSERT INTO "threads" VALUES(3591686441891029424,'','acmeada','expired','support',1795843220946,1795843220953,2,410,'run_c8492d4a52960ce4','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442128733757,'','acmeada','talks','support',1795843221065,1795843221067,2,268,'run_c58068d707be86ad','finished',NULL,0,'hello',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442136557419,'','acmeada','done','support',1795843221068,1795843221111,2,561,'decide_c1445a094251fa9f3ece4d1009769423','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442223004789,'','acmeada','rejected','support',1795843221112,1795843221117,2,684,'decide_b025ac53ecc5efac874025bec9aaaecf','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442236693394,'','acmeada','waits','support',1795843221118,1795843221119,2,410,'run_0e1e2b97084206f8','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442244360323,'','acmeada','handed on','support',1795843221122,1795843221123,2,410,'run_454ae4cf4f3dc4ed','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442273383712,'','acmeada','claimed','support',1795843221136,1795843221138,2,476,'run_40b280fd61900e15','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442283467094,'','acmeada','failed','support',1795843221141,1795843221143,2,503,'run_6ee9f452fb1a5489','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442289956486,'','acmeada','unknown','support',1795843221145,1795843221147,2,504,'run_3cbba2217534d6a5','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442296854772,'','acmeada','superseded','support',1795843221148,1795843221149,2,410,'run_1972f11419fd38b9','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442303378373,'','acmeada','cancelled','support',1795843221152,1795843221153,2,410,'run_8d49a9072b822d3a','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442316580187,'','acmeada','counted','support',1795843221158,1795843221159,2,502,'run_7c13670a8fb10418','waiting',NULL,0,'refund',0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442336442370,'','acmeada','passed','support',1795843221168,1795843221168,2,326,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
INSERT INTO "threads" VALUES(3591686442338981229,'','acmeada','given back','support',1795843221169,1795843221169,2,334,'asks','waiting',NULL,0,NULL,0,NULL,NULL,NULL,NULL);
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
INSERT INTO "tombstones" VALUES('','apr_ec6f54f65b047328d93224bae7dcdbd2','acmeada','gone','support','refund','','unknown','ec7536e2b4c37f6ebe87ad403c4548c2b8a8d6cd2e5d132a5e37720668253001',NULL,1,'acme/ben','http',1795843221155,1795843221181,1795843221182);
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
